/**
 * Who is buying. A guest here, kept for this tab, so that the page runs without a shop around it. In your shop `buyerToken` asks your own server for
 * the token that it signs for the customer who is signed in: `() => fetch('/buyer-token').then(answer => answer.text())`.
 */

import { StampedeClient } from 'stampede-client'

export const STAMPEDE = 'http://127.0.0.1:8080'
const KEPT = 'buyer-token'
let asked = false

/** The client asks a second time only if the first token was refused. */
async function buyerToken() {
  const kept = asked ? null : sessionStorage.getItem(KEPT)
  asked = true
  if (kept !== null) return kept
  const { token } = await new StampedeClient({ url: STAMPEDE }).signInAsGuest()
  sessionStorage.setItem(KEPT, token)
  return token
}

export const client = new StampedeClient({ url: STAMPEDE, token: buyerToken })
