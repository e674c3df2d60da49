/**
 * Signs the sandbox's callbacks and makes the unguessable part of its pay pages' addresses: HMAC-SHA256 under two keys derived from one
 * secret, compared in constant time.
 *
 * A callback carries the header of `body-signature.ts`.
 */

import { createHmac, createSecretKey } from 'node:crypto'
import { assert } from '../../base/assert.ts'
import { isSameText, signBody, signedAtMs } from '../body-signature.ts'

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

  const tokenOf = (ref: string) =>
    `${ref}-${createHmac('sha256', naming).update(ref).digest('hex').slice(0, TOKEN_MAC_LENGTH)}`

  return {
    sign: (rawBody, nowMs) => signBody(signing, rawBody, nowMs),
    isGenuine: (rawBody, signature, nowMs) => signedAtMs([signing], rawBody, signature, nowMs) !== undefined,
    tokenOf,
    refOf(token) {
      const ref = token.slice(0, -(TOKEN_MAC_LENGTH + 1))
      return ref !== '' && isSameText(token, tokenOf(ref)) ? ref : undefined
    },
  }
}
