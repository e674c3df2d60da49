/**
 * Those who were told "reserved": not an answer yet, but the promise of one. They look, patiently and ever less often, until their order
 * is placed or refused. Whoever still knows nothing after a minute and a half is left without a final answer.
 */

import type { Random } from '../../base/random.ts'
import type { ToldOrder } from '../../domain/promises/snapshot.ts'
import { describeAnswer, readOrder } from '../client/answers.ts'
import type { Answer } from '../client/connection.ts'
import type { Requests } from '../client/requests.ts'
import type { Tally } from './tally.ts'

/** What is asked about: an order, and the click that led to it. */
interface Reservation {
  readonly buyer: number
  readonly order: string
  /** When the buyer clicked, from the opening. */
  readonly clickedMs: number
  /** The buyer was refused before, and came back. */
  readonly again: boolean
}

interface ReservedParts {
  readonly random: Random
  readonly tally: Tally
  readonly requests: Requests
  readonly send: (
    bytes: Buffer,
    answered: (answer: Answer, sentMs: number, nowMs: number) => void,
    lost: () => void,
  ) => void
  readonly later: (afterMs: number, act: () => void) => void
  /** From the opening. */
  readonly nowMs: () => number
  readonly tell: (buyer: number, order: ToldOrder, sentMs: number, nowMs: number) => void
  readonly tokenOf: (buyer: number) => string
  readonly settled: (reservation: Reservation, order: ToldOrder) => void
}

export interface Reserved {
  readonly count: number
  has(buyer: number): boolean
  wait(reservation: Reservation): void
  /** The buyer learned it in another way. */
  drop(buyer: number): void
}

const LOOK_MS = 250
const LOOK_MS_MAX = 2_000
const LOOK_GROWTH = 1.4
const WAIT_MS_MAX = 90_000
/** Not known there yet, too many at once, or somebody on the way is away: no word about the order. */
const NOT_YET: ReadonlySet<number> = new Set([404, 429, 502, 503, 504])

export function createReserved(parts: ReservedParts): Reserved {
  const { random, tally, requests } = parts
  const waiting = new Map<number, Reservation>()

  function look(reservation: Reservation, untilMs: number, afterMs: number): void {
    const { buyer, order: id } = reservation
    if (waiting.get(buyer) !== reservation) return
    const again = () => {
      if (waiting.get(buyer) !== reservation) return
      if (parts.nowMs() < untilMs) return later(reservation, untilMs, Math.min(LOOK_MS_MAX, afterMs * LOOK_GROWTH))
      waiting.delete(buyer)
      tally.surprise(`reserved, but neither placed nor refused after ${WAIT_MS_MAX / 1000} s`)
    }
    parts.send(
      requests.look(id, parts.tokenOf(buyer)),
      (answer, sentMs, nowMs) => {
        if (NOT_YET.has(answer.status)) return again()
        const order = answer.status === 200 ? readOrder(answer) : undefined
        if (order === undefined || order.id !== id) {
          waiting.delete(buyer)
          return tally.surprise(`look at a reserved order: ${describeAnswer(answer)}`)
        }
        if (order.state === 'reserved') return again()
        if (waiting.get(buyer) !== reservation) return
        waiting.delete(buyer)
        parts.tell(buyer, order, sentMs, nowMs)
        parts.settled(reservation, order)
      },
      again,
    )
  }

  function later(reservation: Reservation, untilMs: number, afterMs: number): void {
    parts.later(afterMs * (0.75 + random.next() / 2), () => look(reservation, untilMs, afterMs))
  }

  return {
    get count() {
      return waiting.size
    },
    has: buyer => waiting.has(buyer),
    wait(reservation) {
      if (waiting.has(reservation.buyer)) return
      waiting.set(reservation.buyer, reservation)
      later(reservation, parts.nowMs() + WAIT_MS_MAX, LOOK_MS)
    },
    drop: buyer => void waiting.delete(buyer),
  }
}
