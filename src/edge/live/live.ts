/**
 * `GET /api/live`: a buyer's open sockets. A buyer's own orders go to that buyer's sockets and to nobody else's; stock and sales to all.
 * A socket that opens is told the current state first (sales and stock at once, the buyer's latest orders as soon as they are read), so
 * whoever was cut off only has to come back.
 *
 * Bounded: sockets in all (the next one is refused: busy), sockets per buyer (the oldest gives way to the ninth: the tab just opened is
 * the one being looked at), what a socket may send us (nothing is expected), what may wait for a slow reader (it is dropped, never
 * waited for; the server that owns the sockets sees to that), and how long a token lasts. Does not know who serves the sockets.
 *
 * States of a socket: admitted → open (its orders are being read) → open → closed.
 */

import { assert } from '../../base/assert.ts'
import { createBatcher } from '../../base/batcher.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Counted, Meters } from '../../base/meters.ts'
import type { BuyerId, OrderId } from '../../domain/ids.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Messages } from '../../flows/follow/messages.ts'
import type { Registry } from '../../flows/sell/live-item.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { Orders } from '../../ledger/orders.ts'
import { wireOrder } from '../answers.ts'
import { plainProblem, problem } from '../http/problem-response.ts'
import { createLiveBoard } from './live-board.ts'
import type { createLiveBuyer } from './live-buyer.ts'

type ClosedBecause = Counted['sockets_closed'][number]

/** What belongs to one socket. */
export interface LiveState {
  readonly buyer: BuyerId
  readonly expiresAtMs: number
  /** While its orders are being read: the version of each that it was told meanwhile. */
  toldMeanwhile: Map<OrderId, number> | undefined
  heard: number
  /** Something waits for its reader. If the socket ends now, it was dropped for being slow: the server does not say so. */
  behind: boolean
  closed: boolean
  because: ClosedBecause | undefined
}

/** A socket, as far as it is used here. */
interface LiveSocket {
  readonly data: LiveState
  /** Above 0: on its way. Otherwise it waits behind what was not read yet, or was not even taken. */
  send(text: string): number
  subscribe(topic: string): void
  close(code: number, reason: string): void
  /** At once, without a word. */
  terminate(): void
  getBufferedAmount(): number
}

interface LiveParts {
  readonly findBuyer: ReturnType<typeof createLiveBuyer>
  readonly orders: Pick<Orders, 'ofBuyer'>
  /** In a cluster: a buyer's latest orders with those that are reserved and not placed yet. */
  readonly ordersOfBuyer?: (buyer: BuyerId, limit: number) => Promise<readonly (Order | Reservation)[]>
  readonly registry: Registry
  readonly near: LocalView
  readonly messages: Pick<Messages, 'listen'>
  readonly clock: Clock
  readonly meters: Meters
  readonly socketsMax?: number
}

export interface Live {
  /** Who may open a socket, with the headers of the answer; otherwise the answer itself. */
  admit(request: Request): Promise<Response | { readonly state: LiveState; readonly headers: Record<string, string> }>
  opened(socket: LiveSocket): void
  heard(socket: LiveSocket): void
  closed(socket: LiveSocket): void
  /** Whoever owns the sockets says how one text reaches all that subscribed to a topic: above 0 when it is on its way to each of them. */
  broadcastBy(publish: (topic: string, text: string) => number): void
  /** Tells what has changed; every `ROUND_EVERY_MS`. */
  round(): void
  /** Says good-bye to everybody; from now on nobody is let in. */
  drain(): void
  count(): number
}

export const LIVE_PATH = '/api/live'

const SOCKETS_MAX = 10_000
const SOCKETS_PER_BUYER_MAX = 8
const ORDERS_SHOWN_MAX = 20
/** Nobody needs to tell us anything; a few words are forgiven (some clients send "ping" as a text). */
const HEARD_PER_MINUTE_MAX = 10
const MINUTE_MS = 60_000
const SWEEP_EVERY_MS = 1_000
/** Orders of so many newcomers are read at a time: after a restart everybody comes back at once. */
const READ_AT_ONCE_MAX = 8
const EVERYBODY = 'everybody'

const GOING_AWAY = 1001
const POLICY = 1008
const TRY_AGAIN_LATER = 1013

export function createLive(parts: LiveParts): Live {
  const { clock, meters, socketsMax = SOCKETS_MAX } = parts
  /** In the order they came: the first is the oldest. */
  const byBuyer = new Map<BuyerId, LiveSocket[]>()
  let count = 0
  let draining = false
  let sweptAtMs = clock.elapsed()
  let forgivenAtMs = clock.elapsed()
  let publish: (topic: string, text: string) => number = () => 1
  const board = createLiveBoard({ ...parts, tell: tellEverybody })

  const read = parts.ordersOfBuyer ?? ((buyer: BuyerId, limit: number) => parts.orders.ofBuyer(buyer, undefined, limit))
  const reader = createBatcher<BuyerId, readonly (Order | Reservation)[]>({
    batchMax: READ_AT_ONCE_MAX,
    queueMax: socketsMax + 1,
    // Who has left meanwhile is not read for; nor is anybody once we leave ourselves, and the ledger closes behind us.
    run: buyers =>
      Promise.all(buyers.map(buyer => (draining || !byBuyer.has(buyer) ? [] : read(buyer, ORDERS_SHOWN_MAX)))),
  })

  function refuse(why: Counted['sockets_refused'][number], answer: Response): Response {
    meters.count('sockets_refused', why)
    return answer
  }

  function send(socket: LiveSocket, text: string): void {
    if (socket.send(text) <= 0) socket.data.behind = true
  }

  function tellEverybody(text: string): void {
    if (publish(EVERYBODY, text) > 0) return
    for (const sockets of byBuyer.values())
      for (const socket of sockets) if (socket.getBufferedAmount() > 0) socket.data.behind = true
  }

  function end(socket: LiveSocket, code: number, because: ClosedBecause, reason: string): void {
    socket.data.because = because
    socket.close(code, reason)
  }

  /** Latest last, as they would have come; what was told meanwhile is not told again in an older version. */
  async function showOrders(socket: LiveSocket): Promise<void> {
    const { data } = socket
    try {
      const orders = await reader.join(data.buyer)
      assert(orders !== undefined, 'more sockets wait for their orders than there can be')
      if (data.closed) return
      const oldestFirst = [...orders].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
      for (const order of oldestFirst)
        if (versionOf(order) > (data.toldMeanwhile?.get(order.id) ?? -1)) send(socket, orderMessage(order))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      // Half a state would be a lie: come back when the ledger answers.
      if (!data.closed)
        end(socket, TRY_AGAIN_LATER, 'unreadable', 'your orders can not be read now; come back in a moment')
    } finally {
      data.toldMeanwhile = undefined
    }
  }

  function sweep(): void {
    const nowMs = clock.now()
    const forgive = clock.elapsed() - forgivenAtMs >= MINUTE_MS
    if (forgive) forgivenAtMs = clock.elapsed()
    for (const sockets of byBuyer.values()) {
      for (const socket of [...sockets]) {
        if (forgive) socket.data.heard = 0
        socket.data.behind = socket.getBufferedAmount() > 0
        if (socket.data.expiresAtMs <= nowMs) end(socket, POLICY, 'expired', 'your token has expired; sign in again')
      }
    }
  }

  function tellBuyer(order: Order | Reservation): void {
    const sockets = byBuyer.get(order.buyer)
    if (sockets === undefined) return
    const text = orderMessage(order)
    for (const socket of sockets) {
      socket.data.toldMeanwhile?.set(order.id, versionOf(order))
      send(socket, text)
    }
  }

  /** What was not told is read anew, for those whose orders are not being read already. */
  function showAgain(): void {
    for (const sockets of byBuyer.values()) {
      for (const socket of sockets) {
        if (socket.data.toldMeanwhile !== undefined || socket.data.because !== undefined) continue
        socket.data.toldMeanwhile = new Map()
        void showOrders(socket)
      }
    }
  }

  parts.messages.listen({
    orderChanged: tellBuyer,
    orderReserved: tellBuyer,
    saleChanged: sale => board.saleChanged(sale),
    missed: showAgain,
  })

  return {
    async admit(request) {
      if (draining) return refuse('draining', plainProblem('busy'))
      const found = await parts.findBuyer(request)
      if (found === undefined) return refuse('unauthenticated', plainProblem('unauthenticated'))
      if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
        return problem('body_invalid', { detail: 'This address speaks WebSocket: ask for an upgrade.' })
      }
      if (draining) return refuse('draining', plainProblem('busy'))
      if (count >= socketsMax) return refuse('full', plainProblem('busy'))
      const { buyer, expiresAtMs, protocol } = found
      return {
        state: {
          buyer,
          expiresAtMs,
          toldMeanwhile: new Map(),
          heard: 0,
          behind: false,
          closed: false,
          because: undefined,
        },
        headers: protocol === undefined ? {} : { 'sec-websocket-protocol': protocol },
      }
    },
    opened(socket) {
      const { buyer } = socket.data
      count += 1
      meters.count('sockets_opened', 'opened')
      const sockets = byBuyer.get(buyer) ?? []
      byBuyer.set(buyer, sockets)
      sockets.push(socket)
      // Those already told to go may take a moment to do so.
      const staying = sockets.filter(one => one.data.because === undefined)
      if (staying.length > SOCKETS_PER_BUYER_MAX) end(staying[0]!, POLICY, 'one_too_many', 'you have opened too many')
      socket.subscribe(EVERYBODY)
      for (const text of board.current()) send(socket, text)
      void showOrders(socket)
    },
    heard(socket) {
      socket.data.heard += 1
      if (socket.data.heard > HEARD_PER_MINUTE_MAX)
        end(socket, POLICY, 'talkative', 'nothing is expected from you here')
    },
    closed(socket) {
      const { data } = socket
      if (data.closed) return
      data.closed = true
      count -= 1
      meters.count('sockets_closed', data.because ?? (data.behind ? 'slow' : 'left'))
      const sockets = byBuyer.get(data.buyer)
      if (sockets === undefined) return
      const i = sockets.indexOf(socket)
      if (i >= 0) sockets.splice(i, 1)
      if (sockets.length === 0) byBuyer.delete(data.buyer)
    },
    broadcastBy(by) {
      publish = by
    },
    round() {
      board.round(count)
      if (clock.elapsed() - sweptAtMs < SWEEP_EVERY_MS) return
      sweptAtMs = clock.elapsed()
      sweep()
    },
    drain() {
      draining = true
      for (const sockets of byBuyer.values()) {
        for (const socket of [...sockets]) {
          end(socket, GOING_AWAY, 'draining', 'the server is going away; come back')
          // A good-bye that waits behind what is not read would never arrive.
          if (!socket.data.closed && socket.getBufferedAmount() > 0) socket.terminate()
        }
      }
    },
    count: () => count,
  }
}

/** A reservation comes before every version of its order. */
function versionOf(order: Order | Reservation): number {
  return order.state === 'reserved' ? 0 : order.version
}

function orderMessage(order: Order | Reservation): string {
  return JSON.stringify({ type: 'order', order: wireOrder(order) })
}
