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
  return cookiesOf(header, NAME)[0] || undefined
}

/** The values of a cookie in a `Cookie` header. Several servers on one host share its cookies, so there may be more than one. */
export function cookiesOf(header: string, name: string): readonly string[] {
  const pairs = header.split(';').map(pair => pair.trim())
  return pairs.filter(pair => pair.startsWith(`${name}=`)).map(pair => pair.slice(name.length + 1))
}
