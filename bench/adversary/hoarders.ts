/** Connections that only take room: sockets that say nothing, headers and bodies that come a byte a second. Held until they are let go. */

import { connect, type Socket } from 'node:net'
import type { Clock } from '../../src/base/clock.ts'

const SLOW_HEAD = 'GET /api/sales HTTP/1.1\r\nhost: sale\r\nx-slow: '
const slowBody = (path: string) =>
  `POST ${path}/ticket HTTP/1.1\r\nhost: sale\r\ncontent-type: application/json\r\ncontent-length: 10000\r\n\r\n{"x":"`

export class Hoarders {
  readonly #sockets: Socket[] = []
  readonly #done = new AbortController()

  /** @param each how many of each kind: silent sockets, slow headers, slow bodies */
  constructor(url: string, path: string, each: number, clock: Clock) {
    const { hostname, port } = new URL(url)
    for (const first of ['', SLOW_HEAD, slowBody(path)]) {
      for (let i = 0; i < each; i++) {
        const socket = connect({ host: hostname, port: Number(port), noDelay: true })
        // nginx ends them: that is what is wanted.
        socket.on('error', () => {})
        if (first !== '') socket.write(first)
        this.#sockets.push(socket)
      }
    }
    void this.#drip(clock, each)
  }

  release(): void {
    this.#done.abort()
    for (const socket of this.#sockets) socket.destroy()
  }

  async #drip(clock: Clock, silent: number): Promise<void> {
    while (!this.#done.signal.aborted) {
      await clock.sleep(1_000, this.#done.signal)
      for (const socket of this.#sockets.slice(silent)) if (socket.writable) socket.write('x')
    }
  }
}
