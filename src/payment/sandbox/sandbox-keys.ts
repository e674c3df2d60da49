/**
 * Signs the sandbox's callbacks and makes the unguessable part of its pay pages' addresses: HMAC-SHA256 under two keys derived from one
 * secret, compared in constant time.
 *
 * A callback carries `stampede-signature: t=SECONDS,v1=HEX`, over the time, a dot and the raw body. It is valid for five minutes before and
 * after `t`, so that a recorded one can't be replayed later.
 */

import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { assert } from '../../base/assert.ts'

export const SIGNATURE_HEADER = 'stampede-signature'

const TOLERANCE_MS = 5 * 60_000
const SECRET_LENGTH_MIN = 16
const TOKEN_MAC_LENGTH = 32

export interface SandboxKeys {
  /** The value of the signature header. */
  sign(rawBody: Uint8Array, nowMs: number): string
  isGenuine(rawBody: Uint8Array, signature: string, nowMs: number): boolean
  /** The last part of a pay page's path: `REF-MAC`. */
  tokenOf(ref: string): string
  /** The ref of a token made by `tokenOf`, and of no other text. */
  refOf(token: string): string | undefined
}

export function createSandboxKeys(secret: string): SandboxKeys {
  assert(secret.length >= SECRET_LENGTH_MIN, `the sandbox's secret has fewer than ${SECRET_LENGTH_MIN} characters`)
  const derive = (purpose: string) => createSecretKey(createHmac('sha256', secret).update(purpose).digest())
  const signing = derive('sandbox callback')
  const naming = derive('sandbox pay page')

  const macOf = (rawBody: Uint8Array, t: string) =>
    createHmac('sha256', signing).update(`${t}.`).update(rawBody).digest('hex')
  const tokenOf = (ref: string) =>
    `${ref}-${createHmac('sha256', naming).update(ref).digest('hex').slice(0, TOKEN_MAC_LENGTH)}`

  return {
    sign(rawBody, nowMs) {
      const t = String(Math.floor(nowMs / 1000))
      return `t=${t},v1=${macOf(rawBody, t)}`
    },
    isGenuine(rawBody, signature, nowMs) {
      const [, t, mac] = /^t=([0-9]{1,12}),v1=([0-9a-f]{64})$/.exec(signature) ?? []
      if (t === undefined || mac === undefined) return false
      return isSame(mac, macOf(rawBody, t)) && Math.abs(nowMs - Number(t) * 1000) <= TOLERANCE_MS
    },
    tokenOf,
    refOf(token) {
      const ref = token.slice(0, -(TOKEN_MAC_LENGTH + 1))
      return ref !== '' && isSame(token, tokenOf(ref)) ? ref : undefined
    },
  }
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given, 'utf8'), Buffer.from(expected, 'utf8')]
  return a.length === b.length && timingSafeEqual(a, b)
}
