/**
 * The buyer who opens a live socket: by a bearer token in the header, by one offered as a subprotocol (`Sec-WebSocket-Protocol: bearer,
 * <token>`: what a page without a cookie can do), or by the session cookie. A browser sends the cookie with any page's socket, so it counts
 * only where the page is trusted (`browsers.ts`). A token counts from anywhere.
 */

import type { BuyerTokens } from '../../admission/buyer-token.ts'
import { readSessionCookie } from '../../admission/session.ts'
import type { BuyerId } from '../../domain/ids.ts'
import { bearerOf } from '../http/exchange.ts'

interface LiveBuyerParts {
  readonly buyers: Pick<BuyerTokens, 'verify'>
  /** May this request's cookie speak for the buyer? */
  readonly trusts: (request: Request) => boolean
}

interface LiveBuyer {
  readonly buyer: BuyerId
  /** When the token ends, and the socket with it. */
  readonly expiresAtMs: number
  /** What the handshake must answer; browsers hang up without it. */
  readonly protocol: string | undefined
}

const BEARER_PROTOCOL = 'bearer'

export function createLiveBuyer({ buyers, trusts }: LiveBuyerParts) {
  return async function find(request: Request): Promise<LiveBuyer | undefined> {
    const offered = offeredToken(request.headers.get('sec-websocket-protocol'))
    const token = bearerOf(request) ?? offered ?? cookieOf(request)
    if (token === undefined) return undefined
    const buyer = await buyers.verify(token)
    if (buyer === undefined) return undefined
    return { buyer, expiresAtMs: expiryOf(token), protocol: offered === undefined ? undefined : BEARER_PROTOCOL }
  }

  function cookieOf(request: Request): string | undefined {
    const cookie = request.headers.get('cookie')
    return cookie !== null && trusts(request) ? readSessionCookie(cookie) : undefined
  }
}

function offeredToken(header: string | null): string | undefined {
  if (header === null) return undefined
  const [first, token] = header.split(',').map(word => word.trim())
  return first === BEARER_PROTOCOL && token !== '' ? token : undefined
}

/** Of a token that was found good: when it ends, or never. */
function expiryOf(token: string): number {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as { exp?: unknown }
    return typeof claims.exp === 'number' ? claims.exp * 1000 : Number.POSITIVE_INFINITY
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
