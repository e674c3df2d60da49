/**
 * The session cookie carries a browser's buyer token. The value is the token itself; the server keeps nothing. Scripts can't read it
 * (HttpOnly), and other sites' POST requests do not send it (SameSite=Lax). Does not verify the token.
 */

import { assert } from '../base/assert.ts'

const NAME = 'stampede_session'

/** The value of a `Set-Cookie` header. `secure`: only over HTTPS; on wherever the public address is HTTPS. */
export function sessionCookie(token: string, { secure, maxAgeS }: { secure: boolean; maxAgeS: number }): string {
  assert(/^[A-Za-z0-9._-]+$/.test(token), 'a session cookie needs a token')
  assert(Number.isSafeInteger(maxAgeS) && maxAgeS >= 0, `a session can't last ${maxAgeS} seconds`)
  return `${NAME}=${token}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

/** The token in a `Cookie` header, unverified; the first one when there are several. */
export function readSessionCookie(header: string): string | undefined {
  const pairs = header.split(';').map(pair => pair.trim())
  return pairs.find(pair => pair.startsWith(`${NAME}=`))?.slice(NAME.length + 1) || undefined
}
