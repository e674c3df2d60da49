/**
 * A buyer's own orders on the buyer's sockets: the latest when a socket opens, then each change as it is published. An order sent while
 * the orders are being read is not sent again in an older version. After missed messages the orders are read again.
 */

import { assert } from '../../base/assert.ts'
import { createBatcher } from '../../base/batching/batcher.ts'
import type { BuyerId } from '../../domain/ids.ts'
import { newnessOf, type Order, type Reservation } from '../../domain/order.ts'
import type { LiveMessage } from '../../wire/live-message.ts'
import { wireOrder } from '../answers.ts'
import { end, type LiveSocket, type LiveSockets, sendTo, TRY_AGAIN_LATER } from './socket.ts'

/** A buyer's latest orders, with reservations that are not placed yet. */
export type ReadOrders = (buyer: BuyerId, limit: number) => Promise<readonly (Order | Reservation)[]>

const ORDERS_SHOWN_MAX = 20
/** Orders of so many buyers are read at a time: after a restart all of them come back at once. */
const READ_AT_ONCE_MAX = 8

export class OrderFeed {
  readonly #sockets: LiveSockets
  readonly #reader
  readonly #onFailed: (error: unknown) => void
  #closed = false

  /** @param onFailed called with what kept a buyer's orders from being read or shown */
  constructor(sockets: LiveSockets, socketsMax: number, read: ReadOrders, onFailed: (error: unknown) => void) {
    this.#sockets = sockets
    this.#onFailed = onFailed
    const readOne = (buyer: BuyerId) =>
      this.#closed || sockets.of(buyer).length === 0 ? [] : read(buyer, ORDERS_SHOWN_MAX)
    this.#reader = createBatcher<BuyerId, readonly (Order | Reservation)[]>({
      batchMax: READ_AT_ONCE_MAX,
      queueMax: socketsMax + 1,
      run: buyers => Promise.all(buyers.map(readOne)),
    })
  }

  /** Reads nothing more: the ledger is about to close. */
  close(): void {
    this.#closed = true
  }

  /** Oldest first, as they would have been sent. Never rejects: a socket that can't be shown its orders is closed, and that is all. */
  async show(socket: LiveSocket): Promise<void> {
    const { data } = socket
    try {
      const orders = await this.#reader.join(data.buyer)
      assert(orders !== undefined, 'more sockets wait for their orders than there can be')
      if (data.closed) return
      const oldestFirst = [...orders].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
      for (const order of oldestFirst)
        if (newness(order) > (data.sentMeanwhile?.get(order.id) ?? -1)) sendTo(socket, orderMessage(order))
    } catch (error) {
      this.#onFailed(error)
      if (!data.closed) closeUnreadable(socket)
    } finally {
      data.sentMeanwhile = undefined
    }
  }

  publish(order: Order | Reservation): void {
    const sockets = this.#sockets.of(order.buyer)
    if (sockets.length === 0) return
    const text = orderMessage(order)
    for (const socket of sockets) {
      socket.data.sentMeanwhile?.set(order.id, newness(order))
      sendTo(socket, text)
    }
  }

  /** Messages were missed: reads again for all sockets whose orders are not being read already. */
  showAll(): void {
    for (const socket of this.#sockets.all()) {
      if (socket.data.sentMeanwhile !== undefined || socket.data.because !== undefined) continue
      socket.data.sentMeanwhile = new Map()
      void this.show(socket)
    }
  }
}

/** Half a state would be wrong: the client opens a new socket when it can be read. */
export function closeUnreadable(socket: LiveSocket): void {
  end(socket, TRY_AGAIN_LATER, 'unreadable', 'your orders can not be read now; come back in a moment')
}

/** A reservation comes before every version of its order. */
function newness(order: Order | Reservation): number {
  return order.state === 'reserved' ? 0 : newnessOf(order)
}

function orderMessage(order: Order | Reservation): string {
  return JSON.stringify({ type: 'order', order: wireOrder(order) } satisfies LiveMessage)
}
