/**
 * CORS, HSTS, and which pages a cookie counts for. Only listed origins, compared exactly, may read answers and send the buyer's cookie;
 * others get no CORS header, and there is no wildcard. A page that may not read the answer must not act in the buyer's name either.
 * The operator's cookie counts for our own pages alone.
 */

const METHODS = 'GET, HEAD, POST, PATCH, DELETE'
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key, If-None-Match, Stampede-Sign-In'
const EXPOSED = 'ETag, Location, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id'
const PREFLIGHT_KEPT_S = '600'
/** Of `Sec-Fetch-Site`: our own page, a person who typed the address, a program. A subdomain's page is `same-site`. */
const OWN_SITES: ReadonlySet<string | null> = new Set(['same-origin', 'none', null])
const HSTS = 'max-age=31536000'

export interface Browsers {
  /** Sets the headers that the request's page needs. Changes and returns the same answer. */
  applyHeaders(request: Request, answer: Response): Response
  /** May this request's cookie speak for the buyer? True where no page of another origin is behind it. */
  trusts(request: Request): boolean
  /** Does the request come from a page of our own origin, or from no page at all? */
  isHome(request: Request): boolean
}

export function createBrowsers(corsOrigins: readonly string[], publicUrl: string | undefined): Browsers {
  const listed = new Set(corsOrigins)
  const home = publicUrl === undefined ? undefined : new URL(publicUrl).origin
  const https = home?.startsWith('https:') === true

  return {
    applyHeaders(request, answer) {
      if (https) answer.headers.set('strict-transport-security', HSTS)
      if (listed.size === 0) return answer
      answer.headers.append('vary', 'origin')
      const origin = request.headers.get('origin')
      if (origin === null || !listed.has(origin)) return answer
      answer.headers.set('access-control-allow-origin', origin)
      answer.headers.set('access-control-allow-credentials', 'true')
      // Listed pages may also embed what they may read.
      if (answer.headers.has('cross-origin-resource-policy'))
        answer.headers.set('cross-origin-resource-policy', 'cross-origin')
      if (request.method === 'OPTIONS' && request.headers.has('access-control-request-method')) {
        answer.headers.set('access-control-allow-methods', METHODS)
        answer.headers.set('access-control-allow-headers', REQUEST_HEADERS)
        answer.headers.set('access-control-max-age', PREFLIGHT_KEPT_S)
      } else answer.headers.set('access-control-expose-headers', EXPOSED)
      return answer
    },
    trusts(request) {
      const origin = request.headers.get('origin')
      if (origin === null) return request.headers.get('sec-fetch-site') !== 'cross-site'
      return listed.has(origin) || isOwn(request, origin)
    },
    isHome(request) {
      const origin = request.headers.get('origin')
      return origin === null ? OWN_SITES.has(request.headers.get('sec-fetch-site')) : isOwn(request, origin)
    },
  }

  function isOwn(request: Request, origin: string): boolean {
    if (origin === home) return true
    // Behind a proxy that ends TLS the scheme is not known here; the host is what the browser asked for.
    return /^https?:\/\//.test(origin) && origin.replace(/^https?:\/\//, '') === request.headers.get('host')
  }
}
