/**
 * Buyers' places in waiting lines, on the sockets of those who are in one: when a socket opens or its buyer joins, when the state changes, and when the sale is sold
 * out or has units again, in the next round; a mere move forward at most once a second, and more rarely far behind. The newest counts: nothing is queued.
 *
 * From the copy of the line that this process has. Only of those who were let in, and whose order or time to claim may have changed it, the seller is asked.
 * With many sockets the rounds are further apart, as those of the board; sold out and back again do not wait for that, but rarely enough to be bounded.
 */

import type { Clock } from '../../base/clock.ts'
import { nextTurn } from '../../base/clock.ts'
import type { BuyerId, SaleId } from '../../domain/ids.ts'
import type { FollowedLine, FollowedLines, SaleWithLine } from '../../flows/line/followed-lines.ts'
import { factsOf, type JoinContext, leftIn } from '../../flows/line/join-state.ts'
import type { LiveMessage } from '../../wire/live-message.ts'
import { type LiveSocket, type LiveSockets, sendTo, WRITES_PER_MS_MAX } from './socket.ts'

type LineMessage = Extract<LiveMessage, { type: 'line' }>

export interface LineFeedContext extends JoinContext {
  readonly followedLines: FollowedLines
}

/** A socket whose buyer is in line. */
interface Follower {
  sent: LineMessage | undefined
  sentAtMs: number
  /** Of one who was let in: the state stays until then, unless an order changes it. */
  settledUntilMs: number
}

/** Passes that do not wait for their turn. */
const URGENT_EVERY_MS_MIN = 2_000
const MOVED_EVERY_MS_MIN = 1_000
const MOVED_EVERY_MS_MAX = 10_000
/** With a thousand ahead a place is sent every second, with ten thousand every ten. */
const MOVED_MS_PER_AHEAD = 1
/** Other requests have a turn after so many sockets. */
const SOCKETS_PER_TURN = 500

export class LineFeed {
  readonly #context: LineFeedContext
  readonly #sockets: LiveSockets
  readonly #clock: Clock
  readonly #followers = new Map<SaleId, Map<LiveSocket, Follower>>()
  /** Sales that had no unit left at the last pass. */
  readonly #soldOut = new Set<SaleId>()
  #passedAtMs = Number.NEGATIVE_INFINITY
  #urgentAtMs = Number.NEGATIVE_INFINITY

  constructor(context: LineFeedContext, sockets: LiveSockets, clock: Clock) {
    this.#context = context
    this.#sockets = sockets
    this.#clock = clock
    context.followedLines.listen((sale, buyer) => {
      for (const socket of sockets.of(buyer)) this.#follow(sale, socket)
    })
  }

  opened(socket: LiveSocket): void {
    for (const { sale, book } of this.#context.followedLines.all())
      if (book.numberOf(socket.data.buyer) !== undefined) this.#follow(sale.id, socket)
  }

  closed(socket: LiveSocket): void {
    for (const followers of this.#followers.values()) followers.delete(socket)
  }

  orderChanged(sale: SaleId, buyer: BuyerId): void {
    const followers = this.#followers.get(sale)
    if (followers === undefined) return
    for (const socket of this.#sockets.of(buyer)) {
      const follower = followers.get(socket)
      if (follower !== undefined) follower.settledUntilMs = 0
    }
  }

  /** Messages about orders may have been lost. */
  missed(): void {
    for (const followers of this.#followers.values())
      for (const follower of followers.values()) follower.settledUntilMs = 0
  }

  async round(): Promise<void> {
    const nowMs = this.#clock.elapsed()
    if (this.#sockets.count === 0) return
    if (nowMs - this.#passedAtMs < this.#sockets.count / WRITES_PER_MS_MAX) {
      if (nowMs - this.#urgentAtMs < URGENT_EVERY_MS_MIN || !this.#hasTurned()) return
      this.#urgentAtMs = nowMs
    }
    this.#passedAtMs = nowMs
    await this.#openLines()
    for (const line of this.#context.followedLines.all()) await this.#pass(line)
    for (const sale of this.#followers.keys())
      if (this.#context.followedLines.known(sale) === undefined) {
        this.#followers.delete(sale)
        this.#soldOut.delete(sale)
      }
  }

  /** Is a sale sold out, or has it units again, since the last pass? */
  #hasTurned(): boolean {
    for (const { sale } of this.#context.followedLines.all()) {
      const left = this.#followers.has(sale.id) ? leftIn(this.#context.registry, sale) : undefined
      if (left !== undefined && (left === 0) !== this.#soldOut.has(sale.id)) return true
    }
    return false
  }

  /** A buyer may have joined at another edge: this one reads the lines of all live sales. */
  async #openLines(): Promise<void> {
    const { registry, followedLines, nowMs } = this.#context
    for (const { sale } of registry.values())
      if (sale.line !== undefined && nowMs() >= sale.line.opensAtMs && followedLines.known(sale.id) === undefined)
        await followedLines.of(sale as SaleWithLine)
  }

  async #pass(line: FollowedLine): Promise<void> {
    const followers = this.#followers.get(line.sale.id)
    if (followers === undefined) return
    const left = leftIn(this.#context.registry, line.sale) ?? null
    if (left === 0) this.#soldOut.add(line.sale.id)
    else this.#soldOut.delete(line.sale.id)
    let count = 0
    for (const [socket, follower] of followers) {
      count += 1
      if (count % SOCKETS_PER_TURN === 0) await new Promise<void>(resolve => nextTurn(resolve))
      const message = await this.#messageOf(line, socket.data.buyer, follower, left)
      if (message === undefined || socket.data.closed) continue
      if (this.#isWorthSending(follower, message)) {
        follower.sent = message
        follower.sentAtMs = this.#clock.elapsed()
        sendTo(socket, JSON.stringify(message))
      }
      if (message.state === 'left') followers.delete(socket)
    }
  }

  /** Undefined: it can't be told now. */
  async #messageOf(
    line: FollowedLine,
    buyer: BuyerId,
    follower: Follower,
    left: number | null,
  ): Promise<LineMessage | undefined> {
    const { book, sale } = line
    const about = { type: 'line', sale: sale.id, left } as const
    const number = book.numberOf(buyer)
    if (number === undefined) return { ...about, place: null, ahead: null, state: 'left' }
    const position = book.positionOf(number) ?? null
    const { sent } = follower
    if (sent?.place === position && sent.state !== 'waiting' && this.#context.nowMs() < follower.settledUntilMs)
      return { ...sent, left }
    // A change while this is being found out is found out again.
    follower.settledUntilMs = Number.POSITIVE_INFINITY
    const facts = await factsOf(this.#context, line, buyer, number).catch(error => {
      follower.settledUntilMs = 0
      throw error
    })
    if (facts === 'busy') follower.settledUntilMs = 0
    else if (facts.claimByMs !== undefined) follower.settledUntilMs = Math.min(follower.settledUntilMs, facts.claimByMs)
    return facts === 'busy' ? undefined : { ...about, place: position, ahead: facts.ahead ?? null, state: facts.state }
  }

  #isWorthSending({ sent, sentAtMs }: Follower, { place, ahead, state, left }: LineMessage): boolean {
    if (sent === undefined || sent.state !== state || sent.place !== place) return true
    if (left !== null && sent.left !== null && (left === 0) !== (sent.left === 0)) return true
    if (sent.ahead === ahead) return false
    const everyMs = Math.min(MOVED_EVERY_MS_MAX, Math.max(MOVED_EVERY_MS_MIN, (ahead ?? 0) * MOVED_MS_PER_AHEAD))
    return this.#clock.elapsed() - sentAtMs >= everyMs
  }

  #follow(sale: SaleId, socket: LiveSocket): void {
    const followers = this.#followers.get(sale) ?? new Map<LiveSocket, Follower>()
    this.#followers.set(sale, followers)
    if (!followers.has(socket)) followers.set(socket, { sent: undefined, sentAtMs: 0, settledUntilMs: 0 })
  }
}
