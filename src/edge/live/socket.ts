/** One live socket as the edge uses it, whatever serves it. States: admitted → open, its orders being read → open → closed. */

import type { Counted } from '../../base/meters.ts'
import type { BuyerId, OrderId } from '../../domain/ids.ts'

type ClosedBecause = Counted['sockets_closed'][number]

/** What belongs to one socket. */
export interface LiveState {
  readonly buyer: BuyerId
  /** The limiter's key for its sender. */
  readonly address: string
  readonly expiresAtMs: number
  /** While its orders are being read: the version of each order that was sent meanwhile. */
  sentMeanwhile: Map<OrderId, number> | undefined
  heard: number
  /** Something waits for its reader. If the socket ends now, it was dropped for being slow: the server does not say so. */
  behind: boolean
  closed: boolean
  because: ClosedBecause | undefined
}

export interface LiveSocket {
  readonly data: LiveState
  /** Above 0: sent. Otherwise the text waits behind what was not read yet, or was not even taken. */
  send(text: string): number
  subscribe(topic: string): void
  close(code: number, reason: string): void
  /** Ends at once, without a closing handshake. */
  terminate(): void
  getBufferedAmount(): number
}

/** Beyond 2,000 sockets rounds that write to each are stretched, to keep to this many writes a second. */
export const WRITES_PER_MS_MAX = 8
export const GOING_AWAY = 1001
export const POLICY = 1008
export const TRY_AGAIN_LATER = 1013

export function sendTo(socket: LiveSocket, text: string): void {
  if (socket.send(text) <= 0) socket.data.behind = true
}

export function end(socket: LiveSocket, code: number, because: ClosedBecause, reason: string): void {
  socket.data.because = because
  socket.close(code, reason)
}

/** Sockets by buyer, each buyer's in the order they opened; and how many each address has. */
export class LiveSockets {
  readonly #byBuyer = new Map<BuyerId, readonly LiveSocket[]>()
  readonly #byAddress = new Map<string, number>()
  count = 0

  of(buyer: BuyerId): readonly LiveSocket[] {
    return this.#byBuyer.get(buyer) ?? []
  }

  /** How many are open from this address. */
  from(address: string): number {
    return this.#byAddress.get(address) ?? 0
  }

  /** A socket may be removed meanwhile. */
  *all(): Generator<LiveSocket> {
    for (const sockets of this.#byBuyer.values()) yield* sockets
  }

  add(socket: LiveSocket): void {
    const { buyer, address } = socket.data
    this.#byBuyer.set(buyer, [...this.of(buyer), socket])
    this.#byAddress.set(address, this.from(address) + 1)
    this.count += 1
  }

  remove(socket: LiveSocket): void {
    const { buyer, address } = socket.data
    const rest = this.of(buyer).filter(one => one !== socket)
    if (rest.length === 0) this.#byBuyer.delete(buyer)
    else this.#byBuyer.set(buyer, rest)
    if (this.from(address) > 1) this.#byAddress.set(address, this.from(address) - 1)
    else this.#byAddress.delete(address)
    this.count -= 1
  }
}
