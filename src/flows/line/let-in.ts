/**
 * Lets people in: moves the mark of each line whose sale is open. One process does, the one that leads; two at once do no harm, because the mark is moved by
 * compare-and-set. The mark is a row before anyone hears of it, so a process that dies here takes back nothing and lets no position in twice: the next leader goes on
 * from the mark.
 */

import type { Clock } from '../../base/clock.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Lines } from '../../ledger/lines.ts'
import type { Sales } from '../../ledger/sales.ts'
import type { Messages } from '../follow/messages.ts'
import type { Registry } from '../sell/live-item.ts'
import { eachLine } from './each-line.ts'
import { type FollowedLine, type FollowedLines, type SaleWithLine, stepsKeptMs } from './followed-lines.ts'
import { leftIn } from './join-state.ts'
import { FIRST_PACE, nextLetIn, type Pace } from './line-pace.ts'

interface LetInContext {
  readonly followedLines: FollowedLines
  readonly lines: Pick<Lines, 'letIn'>
  readonly sales: Pick<Sales, 'available'>
  readonly registry: Registry
  readonly messages: Pick<Messages, 'listen'>
  readonly clock: Clock
  readonly nowMs: () => number
}

/** Of an order that was just placed. */
const FIRST_VERSION = 1

/** What this process remembers of a line that it lets in. */
interface Course {
  pace: Pace
  atMs: number
  answerMs: number
  /** How many were let in and ordered, at moments of the last time to claim. Oldest first. */
  readonly past: { readonly atMs: number; readonly admitted: number; readonly ordered: number }[]
  admitted: number
  ordered: number
  /** Where the mark was when this process last looked or moved it. Elsewhere now: another process led meanwhile. */
  mark: number
}

export class LetIn {
  readonly #context: LetInContext
  readonly #courses = new Map<SaleId, Course>()

  constructor(context: LetInContext) {
    this.#context = context
    context.messages.listen({ orderChanged: order => this.#orderChanged(order), saleChanged() {} })
  }

  async round(): Promise<void> {
    const { registry, followedLines } = this.#context
    const sales = new Map<SaleId, SaleWithLine>()
    for (const { sale } of registry.values()) if (isLettingIn(sale, this.#context.nowMs())) sales.set(sale.id, sale)
    for (const id of this.#courses.keys()) if (!sales.has(id)) this.#courses.delete(id)
    if (sales.size === 0) return
    await eachLine([
      ...[...sales.values()].map(sale => () => followedLines.of(sale)),
      () => followedLines.round(),
      ...[...sales.values()].map(sale => async () => this.#letIn(await followedLines.of(sale))),
    ])
  }

  async #letIn(line: FollowedLine): Promise<void> {
    const { sale, book } = line
    const { clock, lines, followedLines } = this.#context
    const nowMs = clock.elapsed()
    const known = this.#courses.get(sale.id)
    const course = known?.mark === book.letIn ? known : this.#begin(line, nowMs)
    const elapsedMs = nowMs - course.atMs
    course.atMs = nowMs
    // Before the stock is read: an order that is heard of in between counts as inside, and not as ordered while its unit still counts as left.
    const inside = insideOf(course, nowMs, sale.line.claimWithinMs)
    const left = await this.#left(sale)
    if (book.paused || (sale.line.order === 'draw' && !book.isDrawn)) return
    const rate = book.rate ?? sale.line.rate
    const { count, pace } = nextLetIn(course.pace, {
      rate,
      elapsedMs,
      left,
      inside,
      queueDepth: this.#queueDepth(sale),
      answerMs: course.answerMs,
    })
    course.pace = pace
    const [from, mark] = [book.letIn, book.markFor(count)]
    if (mark === from) return
    await faultPoint('letin.before')
    const atMs = await lines.letIn(sale.id, from, mark, stepsKeptMs(sale))
    await faultPoint('letin.after')
    course.answerMs = clock.elapsed() - nowMs
    // Another process leads now; its step is read in the next round.
    if (atMs === undefined) return
    course.admitted += book.countBetween(from, mark)
    course.mark = mark
    followedLines.moved(line, mark, atMs)
  }

  /** Lost messages make the line slower for one time to claim, not faster. */
  #orderChanged({ sale, state, version }: Order): void {
    if (this.#courses.size === 0 || state !== 'pending' || version !== FIRST_VERSION) return
    const course = this.#courses.get(sale)
    if (course !== undefined) course.ordered += 1
  }

  /** People who were let in before this process led count as inside until their time to claim is over. */
  #begin({ sale, book }: FollowedLine, atMs: number): Course {
    const sinceMs = this.#context.nowMs() - sale.line.claimWithinMs
    const before = book.steps.findLast(step => step.atMs < sinceMs)?.letIn ?? (book.steps.length > 0 ? 0 : book.letIn)
    const admitted = book.countBetween(before, book.letIn)
    const course: Course = { pace: FIRST_PACE, atMs, answerMs: 0, past: [], admitted, ordered: 0, mark: book.letIn }
    this.#courses.set(sale.id, course)
    return course
  }

  #queueDepth(sale: Sale): number {
    return sale.items.reduce((sum, item) => sum + (this.#context.registry.get(item.id)?.queue.depth() ?? 0), 0)
  }

  /** At the gate; where this process does not see the gate, in the ledger. */
  async #left(sale: Sale): Promise<number | undefined> {
    const atGate = leftIn(this.#context.registry, sale)
    if (atGate !== undefined) return atGate
    const items: readonly ItemId[] = sale.items.map(item => item.id)
    const available = await this.#context.sales.available(items)
    return items.reduce((sum, item) => sum + (available.get(item) ?? 0), 0)
  }
}

function isLettingIn(sale: Sale, nowMs: number): sale is SaleWithLine {
  return sale.line !== undefined && sale.state === 'ready' && nowMs >= sale.opensAtMs && nowMs < sale.closesAtMs
}

/** Let in within the time to claim, less those who ordered since. An order that is closed again makes its unit free, not its buyer come inside again. */
function insideOf({ past, admitted, ordered }: Course, atMs: number, claimWithinMs: number): number {
  past.push({ atMs, admitted, ordered })
  while (past.length > 1 && past[1]!.atMs <= atMs - claimWithinMs) past.shift()
  const first = past[0]!
  const before = first.atMs <= atMs - claimWithinMs ? first.admitted : 0
  return Math.max(0, admitted - before - (ordered - first.ordered))
}
