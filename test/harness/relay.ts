/**
 * A road to a server that can be taken away from whoever uses it, and from nobody else: `cut` ends every connection and lets none begin,
 * `silence` keeps them but carries nothing, as a network does that swallows packets. What was underway when it fell silent is lost.
 */

import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Playground } from './playground.ts'

type Mode = 'open' | 'cut' | 'silent'

/** A port on this machine, or a socket's path. */
export type Destination = { readonly port: number } | { readonly path: string }

export class Relay {
  readonly #server: Server
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #mode: Mode = 'open'
  #to: Destination

  private constructor(to: Destination) {
    this.#to = to
    // Half open: a goodbye is carried like anything else, and swallowed like anything else.
    this.#server = createServer({ allowHalfOpen: true }, from => this.#join(from, this.#to))
  }

  static async start(playground: Playground, to: Destination): Promise<Relay> {
    const relay = new Relay(to)
    await new Promise<void>((resolve, reject) => {
      relay.#server.once('error', reject)
      relay.#server.listen(0, '127.0.0.1', resolve)
    })
    playground.onUndo(() => relay.#stop())
    return relay
  }

  port(): number {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the relay has stopped')
    return address.port
  }

  cut(): void {
    this.#mode = 'cut'
    this.#endAll()
  }

  silence(): void {
    this.#mode = 'silent'
  }

  /** New connections work again. Those that were silenced are ended: their other side has given them up long ago. */
  mend(): void {
    if (this.#mode === 'silent') this.#endAll()
    this.#mode = 'open'
  }

  /** From now on the road leads elsewhere, as an address does after a failover. */
  turn(to: Destination): void {
    this.#to = to
    this.#mode = 'open'
    this.#endAll()
  }

  #join(from: Socket, destination: Destination): void {
    if (this.#mode === 'cut') {
      from.destroy()
      return
    }
    const to = connect({ host: '127.0.0.1', allowHalfOpen: true, ...destination })
    const pair = [from, to] as const
    this.#pairs.add(pair)
    for (const [socket, other] of [pair, [to, from] as const]) {
      socket.setNoDelay(true)
      socket.on('data', chunk => {
        if (this.#mode === 'open' && !other.write(chunk)) {
          socket.pause()
          other.once('drain', () => socket.resume())
        }
      })
      socket.on('end', () => {
        if (this.#mode === 'open') other.end()
      })
      socket.on('error', () => {})
      socket.on('close', () => {
        other.destroy()
        this.#pairs.delete(pair)
      })
    }
  }

  #endAll(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
  }

  async #stop(): Promise<void> {
    this.#mode = 'cut'
    this.#endAll()
    await new Promise<void>(resolve => this.#server.close(() => resolve()))
  }
}
