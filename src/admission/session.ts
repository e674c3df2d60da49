/**
 * The session cookie: how a browser page carries its buyer token. The value is the token itself, nothing is kept on the server.
 * Out of reach of scripts (HttpOnly) and not sent with other sites' posts (SameSite=Lax). Does not look into the token.
 */

import { assert } from '../base/assert.ts'

const NAME = 'stampede_session'

interface SessionCookieOptions {
  /** Only over HTTPS: on wherever the public address is HTTPS. */
  readonly secure: boolean
  readonly maxAgeS: number
}

/** The value of a `Set-Cookie` header. */
export function sessionCookie(token: string, { secure, maxAgeS }: SessionCookieOptions): string {
  assert(/^[A-Za-z0-9._-]+$/.test(token), 'a session cookie was asked for with something that is no token')
  assert(Number.isSafeInteger(maxAgeS) && maxAgeS >= 0, `a session can't last ${maxAgeS} seconds`)
  return `${NAME}=${token}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

/** The token in a `Cookie` header, unverified; the first one when there are several. */
export function readSessionCookie(header: string): string | undefined {
  for (const pair of header.split(';')) {
    const trimmed = pair.trim()
    if (trimmed.startsWith(`${NAME}=`)) return trimmed.slice(NAME.length + 1) || undefined
  }
  return undefined
}
