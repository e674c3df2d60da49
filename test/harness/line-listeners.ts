/** Open live sockets of buyers in a waiting line: how many have heard their place, and that it is sold out, and when the last of them did. */

import { systemClock } from '../../src/base/clock.ts'

const OPENED_AT_ONCE = 200

interface Heard {
  readonly type: string
  readonly sale?: string
  readonly state?: string
  readonly left?: number | null
}

export class LineListeners {
  readonly #sale: string
  readonly #sockets: WebSocket[] = []
  /** How many have heard that they wait. */
  waiting = 0
  /** How many have heard that no unit is left, and when the last did. */
  told = 0
  lastToldMs = 0
  /** How many sockets have ended. */
  ended = 0

  constructor(sale: string) {
    this.#sale = sale
  }

  /** @param url of one server; a socket for each token */
  async open(url: string, tokens: readonly string[]): Promise<void> {
    const live = `${url.replace(/^http/, 'ws')}/api/live`
    for (let from = 0; from < tokens.length; from += OPENED_AT_ONCE)
      await Promise.all(tokens.slice(from, from + OPENED_AT_ONCE).map(token => this.#listen(live, token)))
  }

  close(): void {
    for (const socket of this.#sockets) socket.close()
  }

  async #listen(live: string, token: string): Promise<void> {
    const headers = { authorization: `Bearer ${token}` }
    const socket = new WebSocket(live, { headers } as never)
    this.#sockets.push(socket)
    const opened = Promise.withResolvers<void>()
    let [waits, isTold] = [false, false]
    socket.onopen = () => opened.resolve()
    socket.onerror = () => opened.reject(new Error('a live socket was refused'))
    socket.onclose = () => {
      this.ended += 1
    }
    socket.onmessage = ({ data }) => {
      const { type, sale, state, left } = JSON.parse(String(data)) as Heard
      if (type !== 'line' || sale !== this.#sale || state !== 'waiting') return
      if (!waits) this.waiting += 1
      waits = true
      if (left !== 0 || isTold) return
      isTold = true
      this.told += 1
      this.lastToldMs = systemClock.elapsed()
    }
    await opened.promise
  }
}
