/**
 * `GET /api/live`: buyers' open sockets. A buyer's own orders go to that buyer's sockets alone (`order-feed.ts`); stock and sales go to
 * all (`live-board.ts`), places in waiting lines to those who are in one (`line-feed.ts`). A socket that opens gets the current state first, so a client that was cut off only has to open another.
 *
 * Bounded: handshakes and sockets per address, sockets in all (one more is refused: busy), sockets per buyer (the ninth ends the oldest: the newest tab is the one in use),
 * what a client may send (nothing is expected), what may wait for a slow reader (the server that owns the sockets drops that socket), and
 * the life of a token. Does not know what serves the sockets.
 *
 * What goes wrong here, a bug too, is logged and costs a socket or a message, never the process or the order it is about.
 */

import type { AccessLists } from '../../admission/access-lists.ts'
import type { CallLimits } from '../../admission/rate-limits.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Counted, Meters } from '../../base/meters.ts'
import { OutageLog } from '../../base/outage-log.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Messages } from '../../flows/follow/messages.ts'
import type { RefusalTally } from '../abuse/refusal-tally.ts'
import { admitCall } from '../edge-context.ts'
import { plainProblem, problem } from '../http/problem-response.ts'
import type { findSocketBuyer } from '../identity.ts'
import { LineFeed, type LineFeedContext } from './line-feed.ts'
import { type BoardContext, LiveBoard } from './live-board.ts'
import { closeUnreadable, OrderFeed, type ReadOrders } from './order-feed.ts'
import { end, GOING_AWAY, type LiveSocket, LiveSockets, type LiveState, POLICY, sendTo } from './socket.ts'

interface LiveParts extends BoardContext {
  readonly findBuyer: (request: Request) => ReturnType<typeof findSocketBuyer>
  readonly ordersOfBuyer: ReadOrders
  readonly line: LineFeedContext
  readonly messages: Pick<Messages, 'listen'>
  readonly meters: Meters
  readonly log: Log
  readonly socketsMax?: number
  readonly socketsPerAddressMax: number
  readonly callLimits: CallLimits
  readonly lists: AccessLists
  readonly refusals: Pick<RefusalTally, 'count' | 'all'>
  readonly addressOf: (request: Request) => string
}

const SOCKETS_MAX = 10_000
const SOCKETS_PER_BUYER_MAX = 8
/** A few messages are tolerated: some clients send "ping" as a text. */
const HEARD_PER_MINUTE_MAX = 10
const MINUTE_MS = 60_000
const SWEEP_EVERY_MS = 1_000
const ALL_SOCKETS = 'all'
const OUTAGE_TEXTS = {
  event: 'live_unserved',
  begins: 'live socket or message not served',
  lasts: 'live sockets or messages still not served',
  ends: 'live sockets and messages are served again',
} as const

export class Live {
  readonly #parts: LiveParts
  readonly #socketsMax: number
  readonly #sockets = new LiveSockets()
  readonly #orders: OrderFeed
  readonly #board: LiveBoard
  readonly #lines: LineFeed
  readonly #outage: OutageLog
  #draining = false
  #sweptAtMs: number
  #minuteAtMs: number
  #publish: (topic: string, text: string) => number = () => 1

  constructor(parts: LiveParts) {
    const { clock, messages, socketsMax = SOCKETS_MAX } = parts
    this.#parts = parts
    this.#socketsMax = socketsMax
    this.#sweptAtMs = clock.elapsed()
    this.#minuteAtMs = clock.elapsed()
    this.#board = new LiveBoard(parts, text => this.#sendToAll(text))
    this.#outage = new OutageLog(parts, {}, OUTAGE_TEXTS)
    this.#orders = new OrderFeed(this.#sockets, socketsMax, parts.ordersOfBuyer, error => this.#failed(error))
    this.#lines = new LineFeed(parts.line, this.#sockets, clock)
    const publish = (order: Order | Reservation) =>
      this.#try(() => {
        this.#orders.publish(order)
        this.#lines.orderChanged(order.sale, order.buyer)
      })
    messages.listen({
      orderChanged: publish,
      orderReserved: publish,
      saleChanged: sale => this.#try(() => this.#board.saleChanged(sale)),
      missed: () =>
        this.#try(() => {
          this.#orders.showAll()
          this.#lines.missed()
        }),
    })
  }

  /** The state of a socket that may be opened and headers for the handshake's answer; or the answer that refuses it. */
  async admit(request: Request): Promise<Response | { state: LiveState; headers: Record<string, string> }> {
    if (this.#draining) return this.#refuse('draining', 'busy')
    const limited = admitCall(this.#parts, request)
    if (limited !== undefined) {
      this.#parts.meters.count('sockets_refused', 'rate_limited')
      return limited
    }
    const found = await this.#parts.findBuyer(request)
    if (found === undefined) return this.#refuse('unauthenticated', 'unauthenticated')
    if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket')
      return problem('body_invalid', { detail: 'This address speaks WebSocket: ask for an upgrade.' })
    if (this.#draining) return this.#refuse('draining', 'busy')
    if (this.#sockets.count >= this.#socketsMax) return this.#refuse('full', 'busy')
    const address = this.#parts.addressOf(request)
    if (this.#sockets.from(address) >= this.#parts.socketsPerAddressMax) return this.#refuse('full_address', 'busy')
    const { buyer, expiresAtMs, protocol } = found
    const fresh = { sentMeanwhile: new Map(), heard: 0, behind: false, closed: false, because: undefined }
    return {
      state: { buyer, address, expiresAtMs, ...fresh },
      headers: protocol === undefined ? {} : { 'sec-websocket-protocol': protocol },
    }
  }

  opened(socket: LiveSocket): void {
    this.#sockets.add(socket)
    this.#parts.meters.count('sockets_opened', 'opened')
    // Sockets that were told to close may take a moment to do so.
    const staying = this.#sockets.of(socket.data.buyer).filter(one => one.data.because === undefined)
    if (staying.length > SOCKETS_PER_BUYER_MAX) end(staying[0]!, POLICY, 'one_too_many', 'you have opened too many')
    socket.subscribe(ALL_SOCKETS)
    const shown = this.#try(() => {
      for (const text of this.#board.current()) sendTo(socket, text)
      this.#lines.opened(socket)
    })
    if (shown) void this.#orders.show(socket)
    else closeUnreadable(socket)
  }

  heard(socket: LiveSocket): void {
    socket.data.heard += 1
    if (socket.data.heard > HEARD_PER_MINUTE_MAX) end(socket, POLICY, 'talkative', 'nothing is expected from you here')
  }

  closed(socket: LiveSocket): void {
    const { data } = socket
    if (data.closed) return
    data.closed = true
    this.#sockets.remove(socket)
    this.#lines.closed(socket)
    this.#parts.meters.count('sockets_closed', data.because ?? (data.behind ? 'slow' : 'left'))
  }

  /** Says how one text is sent to all sockets that subscribed to a topic: above 0 when it was sent to each of them. */
  broadcastBy(publish: (topic: string, text: string) => number): void {
    this.#publish = publish
  }

  /** Publishes what has changed; every `ROUND_EVERY_MS`. */
  round(): void {
    this.#board.round(this.#sockets.count)
    this.#outage.worked()
    const nowMs = this.#parts.clock.elapsed()
    if (nowMs - this.#sweptAtMs < SWEEP_EVERY_MS) return
    this.#sweptAtMs = nowMs
    this.#sweep(nowMs)
  }

  /** Sends places in lines that have changed; every `ROUND_EVERY_MS`. */
  lineRound(): Promise<void> {
    return this.#draining ? Promise.resolve() : this.#lines.round()
  }

  /** Closes every socket; from now on none is admitted. */
  drain(): void {
    this.#draining = true
    this.#orders.close()
    for (const socket of this.#sockets.all()) {
      end(socket, GOING_AWAY, 'draining', 'the server is going away; come back')
      // The closing message of a socket that is behind would never be read.
      if (!socket.data.closed && socket.getBufferedAmount() > 0) socket.terminate()
    }
  }

  count(): number {
    return this.#sockets.count
  }

  /** False: it failed. */
  #try(act: () => void): boolean {
    try {
      act()
      return true
    } catch (error) {
      this.#failed(error)
      return false
    }
  }

  #failed(error: unknown): void {
    this.#outage.failed(error)
    if (!(error instanceof Fault)) this.#parts.meters.count('alarms', 'watching_failed')
  }

  #refuse(why: Counted['sockets_refused'][number], code: 'busy' | 'unauthenticated'): Response {
    this.#parts.meters.count('sockets_refused', why)
    return plainProblem(code)
  }

  #sendToAll(text: string): void {
    if (this.#publish(ALL_SOCKETS, text) > 0) return
    for (const socket of this.#sockets.all()) if (socket.getBufferedAmount() > 0) socket.data.behind = true
  }

  /** Ends sockets whose token has expired; once a minute all may send again. */
  #sweep(elapsedMs: number): void {
    const nowMs = this.#parts.clock.now()
    const minuteOver = elapsedMs - this.#minuteAtMs >= MINUTE_MS
    if (minuteOver) this.#minuteAtMs = elapsedMs
    for (const socket of this.#sockets.all()) {
      const { data } = socket
      if (minuteOver) data.heard = 0
      data.behind = socket.getBufferedAmount() > 0
      if (data.expiresAtMs <= nowMs) end(socket, POLICY, 'expired', 'your token has expired; sign in again')
    }
  }
}
