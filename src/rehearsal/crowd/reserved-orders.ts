/**
 * Buyers who were told "reserved". That is not the final answer, so each polls the order, less and less often, until it is placed or
 * refused. A buyer whose order is neither after 90 s is left without a final answer.
 */

import type { ToldOrder } from '../../domain/promises/snapshot.ts'
import { describeAnswer, readOrder } from '../client/answers.ts'
import type { CrowdContext } from './context.ts'

/** A reserved order, and the click that led to it. */
interface Reservation {
  readonly buyer: number
  readonly order: string
  /** When the buyer clicked, from the opening. */
  readonly clickedMs: number
  /** The buyer was refused before, and came back. */
  readonly again: boolean
}

type OnSettled = (reservation: Reservation, order: ToldOrder) => void

const POLL_MS = 250
const POLL_MS_MAX = 2_000
const POLL_GROWTH = 1.4
const WAIT_MS_MAX = 90_000
/** Not visible there yet, a rate limit, or a server that is away: says nothing about the order. */
const NOT_YET: ReadonlySet<number> = new Set([404, 429, 502, 503, 504])

export class ReservedOrders {
  readonly #context: CrowdContext
  readonly #settled: OnSettled
  /** By buyer. A buyer who learns the outcome from another answer is deleted. */
  readonly waiting = new Map<number, Reservation>()

  constructor(context: CrowdContext, settled: OnSettled) {
    this.#context = context
    this.#settled = settled
  }

  wait(reservation: Reservation): void {
    if (this.waiting.has(reservation.buyer)) return
    this.waiting.set(reservation.buyer, reservation)
    this.#pollLater(reservation, this.#context.nowMs() + WAIT_MS_MAX, POLL_MS)
  }

  #pollLater(reservation: Reservation, untilMs: number, afterMs: number): void {
    const { later, random } = this.#context
    later(afterMs * (0.75 + random.next() / 2), () => this.#poll(reservation, untilMs, afterMs))
  }

  #poll(reservation: Reservation, untilMs: number, afterMs: number): void {
    const { requests, tokens, tally, send, record, nowMs } = this.#context
    const { buyer, order: id } = reservation
    const isWaiting = () => this.waiting.get(buyer) === reservation
    if (!isWaiting()) return
    const again = () => {
      if (!isWaiting()) return
      if (nowMs() < untilMs) return this.#pollLater(reservation, untilMs, Math.min(POLL_MS_MAX, afterMs * POLL_GROWTH))
      this.waiting.delete(buyer)
      tally.surprise(`reserved, but neither placed nor refused after ${WAIT_MS_MAX / 1000} s`)
    }
    send(
      requests.readOrder(id, tokens[buyer]!),
      (answer, sentMs, answeredMs) => {
        if (NOT_YET.has(answer.status)) return again()
        const order = answer.status === 200 ? readOrder(answer) : undefined
        if (order === undefined || order.id !== id) {
          this.waiting.delete(buyer)
          return tally.surprise(`read a reserved order: ${describeAnswer(answer)}`)
        }
        if (order.state === 'reserved') return again()
        if (!isWaiting()) return
        this.waiting.delete(buyer)
        record(buyer, order, sentMs, answeredMs)
        this.#settled(reservation, order)
      },
      again,
    )
  }
}
