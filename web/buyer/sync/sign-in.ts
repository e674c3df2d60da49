/**
 * Signing in at the shop and coming back. The shop's page ends with the address it was given, and the buyer's token behind it: `#token=…`.
 * Browsers send that part to no server. It is taken out of the address bar at once, and traded for the cookie.
 *
 * The address to come back to holds a random number that this tab remembers: a link with another person's token, sent by anyone, signs no buyer in.
 */

import { call } from '../api.ts'
import { publish } from '../buy/tabs.ts'
import { store } from '../store.ts'

const KEY = 'stampede.sign-in'
const PARAMETER = 'signin'

/** Undefined: the shop has not said where. */
export function signInAddress(): string | undefined {
  return store.session.kind === 'out' ? store.session.signInUrl : undefined
}

export function goToSignIn(address: string): void {
  const number = crypto.getRandomValues(new Uint32Array(4)).join('-')
  try {
    sessionStorage.setItem(KEY, number)
  } catch {
    // Without storage the shop can still set the cookie itself.
  }
  const back = new URL(location.href)
  back.hash = ''
  back.searchParams.set(PARAMETER, number)
  location.assign(address.replace('{return}', encodeURIComponent(back.href)))
}

/** Resolves when the session may be asked for. */
export async function backFromSigningIn(): Promise<void> {
  const here = new URL(location.href)
  const number = here.searchParams.get(PARAMETER)
  const token = new URLSearchParams(here.hash.slice(1)).get('token')
  if (number === null && token === null) return
  here.searchParams.delete(PARAMETER)
  here.hash = ''
  history.replaceState(history.state, '', here)
  if (token === null || number === null || number !== remembered()) return
  const reply = await call('POST', '/api/session', { bearer: token })
  if (reply.kind === 'ok') publish({ kind: 'session' })
}

/** Once only. */
function remembered(): string | null {
  try {
    const number = sessionStorage.getItem(KEY)
    sessionStorage.removeItem(KEY)
    return number
  } catch {
    return null
  }
}
