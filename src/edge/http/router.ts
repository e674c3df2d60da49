/** From method and path to a handler: a list of routes, searched by number of segments. `POST …/orders` does not come this way (dispatch.ts). */

import type { Route } from './exchange.ts'

export function createRouter(routes: readonly Route[]) {
  const known = routes.map(route => ({ route, segments: route.path.split('/') }))
  const bySize = Map.groupBy(known, ({ segments }) => segments.length)

  return function find(method: string, path: string) {
    const parts = path.split('/')
    const allowed = new Set<string>()
    let template = ''
    for (const { route, segments } of bySize.get(parts.length) ?? []) {
      const params = matchSegments(segments, parts)
      if (params === undefined) continue
      if (route.method === method || (method === 'HEAD' && route.method === 'GET')) {
        return { kind: 'found' as const, handle: route.handle, params, path: route.path, bytesMax: route.bytesMax }
      }
      template = route.path
      allowed.add(route.method)
      if (route.method === 'GET') allowed.add('HEAD')
    }
    if (allowed.size === 0) return { kind: 'missing' as const }
    const allow = [...allowed, 'OPTIONS'].join(', ')
    if (method === 'OPTIONS')
      return { kind: 'found' as const, handle: () => allowing(allow), params: {}, path: template, bytesMax: undefined }
    return { kind: 'wrong_method' as const, allow }
  }
}

/** The methods an address takes. `browsers.ts` adds what pages of other sites may do. */
function allowing(allow: string): Response {
  return new Response(null, { status: 204, headers: { allow } })
}

function matchSegments(segments: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i]!
    const part = parts[i]!
    if (segment.startsWith('{')) {
      if (part === '') return undefined
      params[segment.slice(1, -1)] = part
    } else if (segment !== part) return undefined
  }
  return params
}
