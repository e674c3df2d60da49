/**
 * News as they happen, over one WebSocket. What it brings goes into the store like everything else; while it is down, the page asks more
 * often (watching.ts), so nothing depends on it.
 */

import { aboutMs, backOffMs } from './moments.ts'
import type { LiveMessage } from './shapes.ts'
import { store } from './store.ts'

/** Something between us and the server does not let it through: ask rarely. */
const REFUSED_WAIT_MS = 60_000
const REFUSALS_MAX = 2

let socket: WebSocket | undefined
let connected = false

export function liveConnected(): boolean {
  return connected
}

/** Keeps one connection for as long as the page lives. The server opens it with everything that is true now. */
export function keepLive(): void {
  let tries = 0
  let refusals = 0
  const connect = () => {
    if (socket !== undefined) return
    if (store.session.kind !== 'in' || !store.online) return void setTimeout(connect, aboutMs(2_000, Math.random()))
    let opened = false
    const current = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/api/live`)
    socket = current
    current.onopen = () => {
      opened = true
      tries = 0
      refusals = 0
    }
    current.onmessage = event => {
      // Only what has brought something is believed in: between here and the server there may be somebody who swallows it all.
      connected = true
      take(event.data)
      store.changed()
    }
    current.onclose = () => {
      socket = undefined
      connected = false
      if (!opened) refusals += 1
      const waitMs =
        refusals > REFUSALS_MAX ? aboutMs(REFUSED_WAIT_MS, Math.random()) : backOffMs(tries + 1, Math.random())
      tries += 1
      setTimeout(connect, waitMs)
      store.changed()
    }
  }
  connect()
}

function take(data: unknown): void {
  if (typeof data !== 'string') return
  let message: LiveMessage
  try {
    message = JSON.parse(data) as LiveMessage
  } catch {
    return
  }
  // A message of a kind that this page does not know yet is somebody else's.
  if (message.type === 'order') store.putOrder(message.order)
  else if (message.type === 'stock') store.putLeft(message.sale, message.item, message.left)
  else if (message.type === 'sale') store.hearSale(message.sale)
}
