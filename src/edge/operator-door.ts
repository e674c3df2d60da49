/**
 * Which addresses are the operators', so that a proxy in front can guard them by the path it reads. Bun 1.4.4 normalises the path before a
 * handler sees it (`\` becomes `/`, dot segments are resolved, also as `%2e`), but matches `routes` with the path as it was sent. So the
 * operators' prefixes are routes of their own (`ROUTE_KEYS`), and a request is refused when the two readings disagree about whose
 * address it is: a proxy that saw the other reading has applied the wrong rules to it.
 */

/** The same addresses as `isOperatorPath`, as keys of Bun's `routes`. */
export const ROUTE_KEYS = ['/api/admin', '/api/admin/*', '/ops', '/ops/*', '/metrics'] as const

export function isOperatorPath(path: string): boolean {
  return isBelow(path, '/api/admin') || isBelow(path, '/ops') || path === '/metrics'
}

function isBelow(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/')
}
