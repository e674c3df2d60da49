/**
 * The session cookie carries a browser's buyer token. The value is the token itself; the server keeps nothing. Scripts can't read it
 * (HttpOnly), and other sites' POST requests do not send it (SameSite=Lax). Does not verify the token.
 *
 * Over HTTPS a cookie's name begins with `__Host-`: browsers then accept it from this very host alone, so that a neighbouring host can't
 * slip in one of its own. For one release the name without it is set and read too, after the other: in a rolling upgrade a browser asks
 * edges of the version before, which know no other name.
 */

import { assert } from '../base/assert.ts'

const NAME = 'stampede_session'

const HOST_PREFIX = '__Host-'

/** The values of the `Set-Cookie` headers. `secure`: only over HTTPS; on wherever the public address is HTTPS. */
export function sessionCookies(
  token: string,
  { secure, maxAgeS }: { secure: boolean; maxAgeS: number },
): readonly string[] {
  assert(/^[A-Za-z0-9._-]+$/.test(token), 'a session cookie needs a token')
  assert(Number.isSafeInteger(maxAgeS) && maxAgeS >= 0, `a session can't last ${maxAgeS} seconds`)
  return namesOf(NAME, secure).map(name => `${name}=${token}; ${attributes(secure, maxAgeS)}`)
}

/** The values of the `Set-Cookie` headers that take the cookie away, under each name it may have. */
export function endedSessionCookies(secure: boolean): readonly string[] {
  return namesOf(NAME, secure).map(name => `${name}=; ${attributes(secure, 0)}`)
}

/** The token in a `Cookie` header, unverified; the first one when there are several. */
export function readSessionCookie(header: string): string | undefined {
  return cookiesOf(header, NAME)[0] || undefined
}

/** All names a cookie has in the browser. Without HTTPS a browser takes none with the prefix. */
export function namesOf(name: string, secure: boolean): readonly string[] {
  return secure ? [`${HOST_PREFIX}${name}`, name] : [name]
}

/**
 * The values of a cookie in a `Cookie` header, those that only this host can have set first. Several servers on one host share its cookies,
 * so there may be more than one.
 */
export function cookiesOf(header: string, name: string): readonly string[] {
  const pairs = header.split(';').map(pair => pair.trim())
  return namesOf(name, true).flatMap(one =>
    pairs.filter(pair => pair.startsWith(`${one}=`)).map(pair => pair.slice(one.length + 1)),
  )
}

function attributes(secure: boolean, maxAgeS: number): string {
  return `Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}
