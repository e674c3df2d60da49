/**
 * What operators see of a line: how many wait, were let in, have ordered, and did not come in time; how fast it moves; and how that went since this process knows
 * the line. Sampled once a second from the copy that the process has; what has led to an order is read of the ledger, while people are let in, and the ledger rests
 * between two reads. Bounded: a curve that is full drops every other point, and goes on half as finely.
 */

import type { Clock } from '../../base/clock.ts'
import { onFault } from '../../base/fault.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { LineOrders } from '../../ledger/line-orders.ts'
import type { FollowedLine, FollowedLines } from './followed-lines.ts'
import type { LineBook } from './line-book.ts'

interface LineFiguresContext {
  readonly followedLines: Pick<FollowedLines, 'all' | 'known'>
  readonly lineOrders: LineOrders
  readonly clock: Clock
  /** By the gate's clock. */
  readonly nowMs: () => number
}

interface LinePoint {
  readonly atMs: number
  /** In line, let in or not. */
  readonly joined: number
  readonly letIn: number
  readonly ordered: number
}

interface Figures extends Omit<LinePoint, 'atMs'> {
  readonly waiting: number
  /** Let in, without an order, and their time to claim is over. */
  readonly missed: number
  /** People let in, over the last seconds. */
  readonly perSecond: number
  /** Oldest first. */
  readonly curve: readonly LinePoint[]
}

/** What is kept of one line. */
interface Record {
  readonly book: LineBook
  points: LinePoint[]
  everyMs: number
  /** Numbers. */
  ordered: readonly number[]
  readAtMs: number
  restMs: number
}

const POINTS_MAX = 240
const FIRST_EVERY_MS = 1_000
const RATE_OVER_MS = 10_000
/** The ledger rests for a multiple of what the last read took. */
const REST_TIMES = 50
const REST_MS_MIN = 2_000

export class LineFigures {
  readonly #context: LineFiguresContext
  readonly #records = new Map<SaleId, Record>()

  constructor(context: LineFiguresContext) {
    this.#context = context
  }

  /** Once a second. */
  async round(): Promise<void> {
    const { followedLines } = this.#context
    for (const id of this.#records.keys()) if (followedLines.known(id) === undefined) this.#records.delete(id)
    for (const line of followedLines.all()) {
      const record = this.#recordOf(line)
      await this.#readOrders(line, record)
      this.#sample(line, record)
    }
  }

  of(line: FollowedLine): Figures {
    const { book } = line
    const record = this.#recordOf(line)
    const nowMs = this.#context.nowMs()
    const isPast = (atMs: number) => (book.steps.findLast(step => step.atMs <= atMs) ?? { letIn: 0 }).letIn
    const expired = book.steps.length === 0 ? book.letIn : isPast(nowMs - line.sale.line.claimWithinMs)
    const ordered = positionsOf(book, record.ordered)
    return {
      ...this.#now(line, record),
      waiting: book.waiting,
      missed: Math.max(0, book.countBetween(0, expired) - ordered.filter(position => position <= expired).length),
      perSecond: book.countBetween(isPast(nowMs - RATE_OVER_MS), book.letIn) / (RATE_OVER_MS / 1_000),
      curve: record.points,
    }
  }

  #now({ book }: FollowedLine, record: Record) {
    return { joined: book.joined, letIn: book.countBetween(0, book.letIn), ordered: record.ordered.length }
  }

  #recordOf({ sale, book }: FollowedLine): Record {
    let record = this.#records.get(sale.id)
    if (record === undefined || record.book !== book) {
      record = {
        book,
        points: [],
        everyMs: FIRST_EVERY_MS,
        ordered: [],
        readAtMs: Number.NEGATIVE_INFINITY,
        restMs: REST_MS_MIN,
      }
      this.#records.set(sale.id, record)
    }
    return record
  }

  /** Without an answer of the ledger the last one is shown. */
  async #readOrders({ sale, book }: FollowedLine, record: Record): Promise<void> {
    const { clock, lineOrders } = this.#context
    const fromMs = clock.elapsed()
    if (book.letIn === 0 || fromMs - record.readAtMs < record.restMs) return
    const numbers = await onFault(
      () => lineOrders.ordered(sale.id),
      () => undefined,
    )
    record.readAtMs = clock.elapsed()
    record.restMs = Math.max(REST_MS_MIN, (record.readAtMs - fromMs) * REST_TIMES)
    if (numbers !== undefined) record.ordered = numbers
  }

  #sample(line: FollowedLine, record: Record): void {
    const atMs = Math.floor(this.#context.nowMs())
    const last = record.points.at(-1)
    // A clock that was set back does not make the curve go back.
    if (last !== undefined && atMs - last.atMs < record.everyMs * 0.9) return
    record.points.push({ atMs, ...this.#now(line, record) })
    if (record.points.length <= POINTS_MAX) return
    record.points = record.points.filter((_, i) => i % 2 === 0)
    record.everyMs *= 2
  }
}

function positionsOf(book: LineBook, numbers: readonly number[]): readonly number[] {
  return numbers.map(number => book.positionOf(number) ?? Number.POSITIVE_INFINITY)
}
