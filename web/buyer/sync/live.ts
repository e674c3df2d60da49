/**
 * Live updates over one WebSocket, written into the store. While it is down the page polls more often (`polling.ts`), so nothing depends on
 * it.
 */

import type { LiveMessage } from '../shapes.ts'
import { store } from '../store.ts'
import { aboutMs, backOffMs } from './moments.ts'

/** A proxy does not let WebSockets through: try rarely. */
const REFUSED_WAIT_MS = 60_000
const REFUSALS_MAX = 2

let socket: WebSocket | undefined
let connected = false

export function liveConnected(): boolean {
  return connected
}

/** Keeps one connection while the page is open. The server's first messages are the current state. */
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
      // Counts as connected only after a message: a proxy may accept the connection and drop everything.
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
  // Messages of an unknown type are ignored.
  if (message.type === 'order') store.putOrder(message.order)
  else if (message.type === 'stock') store.putLeft(message.sale, message.item, message.left)
  else if (message.type === 'sale') store.putPushed(message.sale)
  else if (message.type === 'line') store.hearLine(message)
}
