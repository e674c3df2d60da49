/**
 * Identifies the buyer by a JWT of the shop, `sub` being the buyer: HS256 under a secret shared with us, or signed with a key that the shop
 * publishes. Guest tokens are JWTs that we sign ourselves, under another secret and a fixed issuer, so that none can pass for another kind.
 *
 * Where a shop signs its customers in, guests are buyers with a prefix, which no token of the shop may use: a guest never becomes a customer.
 *
 * Guarantees: a bad token is `undefined`, never an exception (only keys that can't be fetched are a fault); each kind has its pinned
 * algorithms, so a public key never serves as a secret; a cached result ends when the token expires or the shop's published keys change.
 * Does not revoke: a token is valid until it expires. Tokens above 4 KiB (what a cookie can hold) are refused.
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
  /** The secret that the shop shares with us. */
  readonly secret?: string
  /** The keys that the shop publishes. With both, the token's algorithm says which one counts. */
  readonly keys?: RemoteKeys
  readonly issuer?: string
  readonly audience?: string
  /** True: the shop's tokens may lack `exp`, and then never end. */
  readonly endless?: boolean
  /** Signs guest tokens. Without it there are no guests. */
  readonly guestSecret?: string
}

export interface BuyerTokens {
  verify(token: string): Promise<BuyerId | undefined>
  /** Missing when guests are not allowed. Answers undefined if the name is too long for a guest. */
  readonly issueGuest?: (
    name: string,
    ttlMs: number,
  ) => Promise<{ readonly token: string; readonly buyer: BuyerId } | undefined>
}

/** One kind of token: its key and its required claims. */
interface Trust {
  readonly algorithms: string[]
  readonly key: JWTVerifyGetKey
  readonly requiredClaims: string[]
  readonly issuer?: string
  readonly audience?: string
}

interface Remembered {
  readonly buyer: BuyerId
  /** Unix seconds, as in the token. */
  readonly expiresAtS: number
  /** Version of the shop's published keys, when it was verified. */
  readonly keysVersion: number | undefined
}

const GUEST_ISSUER = 'stampede:guest'
/** Long enough that no shop has it by chance: docs/decisions/0016-guests-have-a-prefix.md. */
const GUEST_PREFIX = 'stampede-guest-'
const TOLERANCE_S = 5
const TOKEN_LENGTH_MAX = 4096
const REMEMBERED_MAX = 10_000

export function createBuyerTokens(options: BuyerTokensOptions): BuyerTokens {
  const { clock, secret, keys, issuer, audience, endless = false, guestSecret } = options
  const guestKey = guestSecret === undefined ? undefined : hmacKey(guestSecret)
  const requiredClaims = ['sub', 'exp']
  const guest: Trust | undefined = guestKey && {
    algorithms: ['HS256'],
    key: guestKey,
    issuer: GUEST_ISSUER,
    requiredClaims,
  }
  const claims = {
    ...(issuer && { issuer }),
    ...(audience && { audience }),
    requiredClaims: endless ? ['sub'] : requiredClaims,
  }
  const shared: Trust | undefined =
    secret === undefined ? undefined : { algorithms: ['HS256'], key: hmacKey(secret), ...claims }
  const published: Trust | undefined = keys && { algorithms: REMOTE_ALGORITHMS, key: keys.key, ...claims }
  // Before the opening, buyers ask for tickets with the same token again and again. Least recently used first.
  const remembered = new Map<string, Remembered>()

  async function verify(token: string): Promise<BuyerId | undefined> {
    const nowS = Math.floor(clock.now() / 1000)
    keys?.freshen()
    const known = remembered.get(token)
    if (known !== undefined) {
      remembered.delete(token)
      // The comparison that the verification itself uses, so that a cached token expires in the same second.
      if (known.expiresAtS <= nowS - TOLERANCE_S) return undefined
      if (known.keysVersion === keys?.version()) {
        remembered.set(token, known)
        return known.buyer
      }
    }
    // Read before the verification: if the keys change meanwhile, the token is verified again.
    const keysVersion = keys?.version()
    const payload = await read(token, nowS)
    const buyer = payload?.sub
    if (typeof buyer !== 'string' || !isBuyerId(buyer)) return undefined
    const expiresAtS = payload?.exp ?? Number.POSITIVE_INFINITY
    remembered.set(token, { buyer, expiresAtS, keysVersion })
    if (remembered.size > REMEMBERED_MAX) remembered.delete(remembered.keys().next().value!)
    return buyer
  }

  async function read(token: string, nowS: number): Promise<JWTPayload | undefined> {
    if (token.length > TOKEN_LENGTH_MAX || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined
    try {
      // Unverified, and only to choose the kind: a guest's token is never verified with the shop's key, nor the other way round.
      const byShop = decodeProtectedHeader(token).alg === 'HS256' ? shared : published
      const trust = decodeJwt(token).iss === GUEST_ISSUER ? guest : byShop
      if (trust === undefined) return undefined
      const { key, ...checks } = trust
      const verified = await jwtVerify(token, key, {
        ...checks,
        clockTolerance: TOLERANCE_S,
        currentDate: new Date(nowS * 1000),
      })
      // A guest of the version before has no prefix, and stays signed in until that token ends.
      if (trust !== guest && verified.payload.sub?.startsWith(GUEST_PREFIX)) return undefined
      return verified.payload
    } catch (error) {
      // A header that is no JSON object is a plain TypeError.
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
      throw error
    }
  }

  if (guestKey === undefined) return { verify }
  return {
    verify,
    async issueGuest(name, ttlMs) {
      assert(isBuyerId(name), 'a guest token needs a valid name')
      const alone = shared === undefined && published === undefined
      const buyer = alone || name.startsWith(GUEST_PREFIX) ? name : GUEST_PREFIX + name
      if (!isBuyerId(buyer)) return undefined
      const nowS = Math.floor(clock.now() / 1000)
      const token = await new SignJWT({ sub: buyer, iss: GUEST_ISSUER, iat: nowS, exp: nowS + Math.ceil(ttlMs / 1000) })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .sign(await guestKey())
      return { token, buyer }
    },
  }
}

/** Of a token that was verified: is it a guest's, and not the shop's? */
export function isGuestToken(verified: string): boolean {
  return decodeJwt(verified).iss === GUEST_ISSUER
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
