/**
 * Who is the buyer? The shop says so in a JWT: HS256 under the secret it shares with us, or signed with one of the keys it publishes;
 * `sub` is the buyer. Guest tokens are JWTs that we sign ourselves, under another secret and a fixed issuer, so that none can pass for
 * another.
 *
 * Guarantees: a bad token is `undefined`, never an exception (only keys that can't be fetched are a fault); each way of trusting has its
 * pinned algorithms, so a public key never serves as a secret; what is remembered is forgotten when the token expires or the shop's
 * published keys change. Does not revoke: a token counts until it expires. Tokens above 4 KiB (what a cookie can hold) are refused.
 */

import { webcrypto } from 'node:crypto'
import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
  SignJWT,
} from 'jose'
import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { type BuyerId, isBuyerId } from '../domain/ids.ts'
import { REMOTE_ALGORITHMS, type RemoteKeys } from './remote-keys.ts'

interface BuyerTokensOptions {
  readonly clock: Clock
  /** What the shop signs with, when it shares a secret with us. */
  readonly secret?: string
  /** What the shop signs with, when it publishes its keys. Both may be there: the token's algorithm says which one counts. */
  readonly keys?: RemoteKeys
  readonly issuer?: string
  readonly audience?: string
  /** What we sign guests with. Without it there are no guests. */
  readonly guestSecret?: string
}

export interface BuyerTokens {
  verify(token: string): Promise<BuyerId | undefined>
  /** Missing when guests are not let in. */
  readonly issueGuest?: (buyer: BuyerId, ttlMs: number) => Promise<string>
}

/** One way of trusting a token: where its key comes from and what it must say. */
interface Trust {
  readonly algorithms: string[]
  readonly key: JWTVerifyGetKey
  readonly issuer?: string
  readonly audience?: string
}

interface Remembered {
  readonly buyer: BuyerId
  /** Unix seconds, as in the token. */
  readonly expiresAtS: number
  /** Of the shop's published keys, when it was verified. */
  readonly keysVersion: number | undefined
}

const GUEST_ISSUER = 'stampede:guest'
const TOLERANCE_S = 5
const TOKEN_LENGTH_MAX = 4096
const REMEMBERED_MAX = 10_000

export function createBuyerTokens(options: BuyerTokensOptions): BuyerTokens {
  const { clock, secret, keys, issuer, audience, guestSecret } = options
  const guestKey = guestSecret === undefined ? undefined : hmacKey(guestSecret)
  const guest: Trust | undefined = guestKey && { algorithms: ['HS256'], key: guestKey, issuer: GUEST_ISSUER }
  const said = { ...(issuer && { issuer }), ...(audience && { audience }) }
  const shared: Trust | undefined =
    secret === undefined ? undefined : { algorithms: ['HS256'], key: hmacKey(secret), ...said }
  const published: Trust | undefined = keys && { algorithms: REMOTE_ALGORITHMS, key: keys.key, ...said }
  // Before the opening everyone asks for a ticket with the same token again and again. In order of use, the oldest first.
  const remembered = new Map<string, Remembered>()

  async function verify(token: string): Promise<BuyerId | undefined> {
    const nowS = Math.floor(clock.now() / 1000)
    keys?.freshen()
    const known = remembered.get(token)
    if (known !== undefined) {
      remembered.delete(token)
      if (isPast(known.expiresAtS, nowS)) return undefined
      if (known.keysVersion === keys?.version()) {
        remembered.set(token, known)
        return known.buyer
      }
    }
    // As it was before: should the keys change meanwhile, the token is looked at again.
    const keysVersion = keys?.version()
    const payload = await read(token, nowS)
    const buyer = payload?.sub
    if (typeof buyer !== 'string' || !isBuyerId(buyer)) return undefined
    const expiresAtS = payload?.exp ?? Number.POSITIVE_INFINITY
    remember(token, { buyer, expiresAtS, keysVersion })
    return buyer
  }

  async function read(token: string, nowS: number): Promise<JWTPayload | undefined> {
    if (token.length > TOKEN_LENGTH_MAX || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined
    try {
      // Unverified, and only to choose whom to believe: a guest's token is never tried with the shop's key, nor the other way round.
      const byShop = decodeProtectedHeader(token).alg === 'HS256' ? shared : published
      const trust = decodeJwt(token).iss === GUEST_ISSUER ? guest : byShop
      if (trust === undefined) return undefined
      const { key, ...checks } = trust
      const verified = await jwtVerify(token, key, {
        ...checks,
        requiredClaims: ['sub'],
        clockTolerance: TOLERANCE_S,
        currentDate: new Date(nowS * 1000),
      })
      return verified.payload
    } catch (error) {
      // A header that is no JSON object is a plain TypeError.
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
      throw error
    }
  }

  function remember(token: string, entry: Remembered): void {
    remembered.set(token, entry)
    if (remembered.size <= REMEMBERED_MAX) return
    for (const oldest of remembered.keys()) {
      remembered.delete(oldest)
      return
    }
  }

  if (guestKey === undefined) return { verify }
  return {
    verify,
    async issueGuest(buyer, ttlMs) {
      assert(isBuyerId(buyer), 'a guest token was asked for with something that is no buyer')
      const nowS = Math.floor(clock.now() / 1000)
      return new SignJWT({ sub: buyer, iss: GUEST_ISSUER, iat: nowS, exp: nowS + Math.ceil(ttlMs / 1000) })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .sign(await guestKey())
    },
  }
}

/** The same comparison as the verification's own, so that a remembered token ends in the same second as any other. */
function isPast(expiresAtS: number, nowS: number): boolean {
  return expiresAtS <= nowS - TOLERANCE_S
}

/** Imported once and on first use: importing is asynchronous and slower than checking a signature. */
function hmacKey(secret: string): () => Promise<webcrypto.CryptoKey> {
  if (secret === '') throw new Error('the secret for buyer tokens is empty')
  let key: Promise<webcrypto.CryptoKey> | undefined
  return () => {
    key ??= webcrypto.subtle.importKey('raw', Buffer.from(secret, 'utf8'), { name: 'HMAC', hash: 'SHA-256' }, false, [
      'sign',
      'verify',
    ])
    return key
  }
}
