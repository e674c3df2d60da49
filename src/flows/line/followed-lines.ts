/**
 * The lines that this process knows, each as a book that follows the ledger: one small statement a round for all of them, and then only what is new. A line is
 * opened when it is first asked for, and forgotten some time after its sale is over.
 *
 * A join is numbered and committed in the ledger before it is answered, many at a time; while one batch is at the ledger the next collects. Without an answer of
 * the ledger it is a fault: the buyer hears `busy`, asks again, and gets the number of the row, if there is one. So a process that dies loses no join that was
 * answered, and numbers none twice.
 */

import { assert } from '../../base/assert.ts'
import { type Batcher, createBatcher } from '../../base/batching/batcher.ts'
import { together } from '../../base/batching/together.ts'
import { nextTurn } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Random } from '../../base/random.ts'
import { HASH_BYTES } from '../../domain/draw/draw-bytes.ts'
import type { BuyerId, SaleId } from '../../domain/ids.ts'
import type { LineTerms } from '../../domain/line.ts'
import type { Sale } from '../../domain/sale.ts'
import type { LineDraw, LineDraws } from '../../ledger/line-draws.ts'
import type { LineStatus, Lines } from '../../ledger/lines.ts'
import type { BuyerHash } from './buyer-numbers.ts'
import { eachLine, TOO_MANY_LINES } from './each-line.ts'
import { applyDraw, followDraws, openDraw, startOf } from './follow-draws.ts'
import { LineBook } from './line-book.ts'
import { type LineAnswer, type LineAsk, numberJoins } from './number-joins.ts'

export type SaleWithLine = Sale & { readonly line: LineTerms }

interface LineContext {
  readonly lines: Lines
  readonly draws: Pick<LineDraws, 'open' | 'find'>
  readonly random: Random
  readonly makeHash: () => BuyerHash
  readonly nowMs: () => number
}

/** One line, as this process has it. */
export interface FollowedLine {
  sale: SaleWithLine
  readonly book: LineBook
  readonly asks: Batcher<LineAsk, LineAnswer>
  /** Numbers of buyers that the book does not know, from the ledger, many in one statement. */
  readonly numberOf: (buyer: BuyerId) => Promise<number | undefined>
  /** How far its draw is; undefined: its order is that of arrival. */
  draw: LineDraw | undefined
  /** While it is being read. */
  reading: Promise<void> | undefined
}

const BATCH_MAX = 1_000
const WAITING_MAX = 100_000
const ROWS_PER_READ = 5_000
const NUMBERS_PER_READ = 1_000
/** For estimates, beyond the time to claim. */
const STEPS_KEPT_MS = 120_000
/** Books in memory at once: more sales than are ever in their line at the same time. */
const LINES_MAX = 64
const FORGET_AFTER_MS = 3_600_000

export class FollowedLines {
  readonly #context: LineContext
  readonly #lines = new Map<SaleId, FollowedLine>()
  readonly #opening = new Map<SaleId, Promise<FollowedLine>>()
  #onJoined: (sale: SaleId, buyer: BuyerId) => void = () => {}

  constructor(context: LineContext) {
    this.#context = context
  }

  /** What is known without asking; undefined: nothing. */
  known(sale: SaleId): FollowedLine | undefined {
    return this.#lines.get(sale)
  }

  all(): Iterable<FollowedLine> {
    return this.#lines.values()
  }

  /** @param onJoined called with each join that becomes known here; must be quick, and must not throw */
  listen(onJoined: (sale: SaleId, buyer: BuyerId) => void): void {
    this.#onJoined = onJoined
  }

  /** Opened and read, from its time on. A fault if the ledger does not answer. */
  async of(sale: SaleWithLine): Promise<FollowedLine> {
    const known = this.#lines.get(sale.id)
    if (known?.book.isLoaded === true) {
      known.sale = sale
      return known
    }
    let opening = this.#opening.get(sale.id)
    if (opening === undefined) {
      opening = this.#open(sale).finally(() => this.#opening.delete(sale.id))
      this.#opening.set(sale.id, opening)
    }
    return opening
  }

  /** One batch. Undefined: too many wait. */
  ask(line: FollowedLine, ask: LineAsk): Promise<LineAnswer> | undefined {
    return line.asks.join(ask)
  }

  /** Reads what is new in all lines. */
  async round(): Promise<void> {
    const nowMs = this.#context.nowMs()
    for (const [id, { sale }] of this.#lines) if (nowMs > sale.closesAtMs + FORGET_AFTER_MS) this.#lines.delete(id)
    if (this.#lines.size === 0) return
    const statuses = await this.#context.lines.statuses([...this.#lines.keys()])
    await eachLine([
      ...statuses.map(status => async () => {
        const line = this.#lines.get(status.sale)
        if (line !== undefined) await this.#read(line, status)
      }),
      () => followDraws(this.#context, this.#lines.values()),
      ...[...this.#lines.values()].map(line => () => applyDraw(line)),
    ])
  }

  /** The mark was moved by this process. */
  moved({ sale, book }: FollowedLine, letIn: number, atMs: number): void {
    book.step({ letIn, atMs }, stepsKeptMs(sale))
  }

  async #open(sale: SaleWithLine): Promise<FollowedLine> {
    const { lines, random } = this.#context
    const draw = sale.line.order === 'draw' ? await openDraw(this.#context, sale) : undefined
    await faultPoint('draw.opened')
    const start = startOf(sale, draw)
    let [status] = await lines.statuses([sale.id])
    if (status === undefined) {
      await lines.open(sale.id, random.bytes(HASH_BYTES), start)
      status = (await lines.statuses([sale.id]))[0]
    }
    assert(status !== undefined, `sale ${sale.id} has no line`)
    const line = this.#lines.get(sale.id) ?? this.#follow(sale, status, start, draw)
    await this.#read(line, status)
    await applyDraw(line)
    return line
  }

  #follow(sale: SaleWithLine, status: LineStatus, start: Uint8Array, draw: LineDraw | undefined): FollowedLine {
    const { lines, makeHash } = this.#context
    if (this.#lines.size >= LINES_MAX)
      throw new Fault(TOO_MANY_LINES, `more than ${LINES_MAX} sales have a line now`, { retryable: true })
    const line: FollowedLine = {
      sale,
      book: new LineBook(status, start, makeHash(), sale.line.order === 'draw'),
      asks: createBatcher({
        batchMax: BATCH_MAX,
        queueMax: WAITING_MAX,
        defer: nextTurn,
        run: asks => this.#write(line, asks),
      }),
      numberOf: together(NUMBERS_PER_READ, async buyers => {
        const numbers = await lines.numbersOf(sale.id, [...new Set(buyers)])
        if ([...numbers.values()].some(number => number > line.book.numbers)) await this.#read(line, undefined)
        return buyers.map(buyer => numbers.get(buyer))
      }),
      draw,
      reading: undefined,
    }
    this.#lines.set(sale.id, line)
    return line
  }

  async #write(line: FollowedLine, asks: readonly LineAsk[]): Promise<readonly LineAnswer[]> {
    const { id } = line.sale
    await faultPoint('line.before')
    const buyers = [...new Set(asks.map(ask => ask.buyer))]
    const done = await this.#context.lines.write(id, buyers, locked => numberJoins(id, locked, asks))
    assert(done !== undefined, `the line of sale ${id} is gone`)
    await faultPoint('line.after')
    const { answers, write, before } = done
    const { book } = line
    const isNext = line.reading === undefined && before === book.numbers
    if (write !== undefined && isNext && write.leaves - book.leaves === endsIn(write)) {
      for (const { buyer, proof } of write.joins) this.#add(line, buyer, proof)
      for (const end of endsOf(write)) book.end(end)
    } else if (write !== undefined || before > book.numbers) await this.#read(line, undefined)
    return answers
  }

  #add({ sale, book }: FollowedLine, buyer: BuyerId, proof: Uint8Array): void {
    book.add(buyer, proof)
    this.#onJoined(sale.id, buyer)
  }

  /** One read of a line at a time; the book is never behind `status` afterwards. */
  async #read(line: FollowedLine, status: LineStatus | undefined): Promise<void> {
    while (line.reading !== undefined) await line.reading.catch(() => {})
    line.reading = this.#readOn(line, status)
    try {
      await line.reading
    } finally {
      line.reading = undefined
    }
  }

  async #readOn(line: FollowedLine, shown: LineStatus | undefined): Promise<void> {
    const { sale, book } = line
    const { lines } = this.#context
    const status = shown ?? (await lines.statuses([sale.id]))[0]
    assert(status !== undefined, `the line of sale ${sale.id} is gone`)
    while (book.numbers < status.numbers) {
      const joins = await lines.joinsAfter(sale.id, book.numbers, ROWS_PER_READ)
      assert(joins.length > 0, `numbers of the line of sale ${sale.id} are missing`)
      for (const { number, buyer, proof } of joins) {
        assert(number === book.numbers + 1, `number ${book.numbers + 1} of the line of sale ${sale.id} is missing`)
        this.#add(line, buyer, proof)
      }
    }
    while (book.leaves < status.leaves) {
      const ends = await lines.leavesAfter(sale.id, book.leaves, ROWS_PER_READ)
      assert(ends.length > 0, `ends of the line of sale ${sale.id} are missing`)
      for (const end of ends) book.end(end)
    }
    if (book.letIn < status.letIn)
      for (const step of await lines.stepsAfter(sale.id, book.letIn)) book.step(step, stepsKeptMs(sale))
    // Its steps were deleted: it was let in long ago.
    book.letIn = Math.max(book.letIn, status.letIn)
    book.rate = status.rate
    book.paused = status.paused
    book.isLoaded = true
  }
}

/** How long a step matters: to those who may claim, and for estimates. */
export function stepsKeptMs(sale: SaleWithLine): number {
  return sale.line.claimWithinMs + STEPS_KEPT_MS
}

function endsIn({ joins, ends }: Parameters<typeof endsOf>[0]): number {
  return ends.length + joins.filter(join => join.leftNo !== undefined).length
}

/** In their order. */
function endsOf({
  joins,
  ends,
}: {
  joins: readonly { number: number; leftNo: number | undefined }[]
  ends: readonly { number: number; leftNo: number }[]
}) {
  const own = joins.flatMap(({ number, leftNo }) => (leftNo === undefined ? [] : [{ number, leftNo }]))
  return [...ends, ...own].sort((a, b) => a.leftNo - b.leftNo)
}
