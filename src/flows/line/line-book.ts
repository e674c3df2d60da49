/**
 * What a process knows of one line: a compact copy of the ledger's rows, a few dozen bytes for each join, however many there are. Answers a poll without
 * asking the ledger.
 *
 * Joins are added in the order of their numbers, from the ledger or as this process has just committed them; those of other processes are read later, so the
 * copy may lag behind: what it does not know is `undefined`, never a "no". Marks and steps only go up.
 */

import { assert } from '../../base/assert.ts'
import { HASH_BYTES } from '../../domain/draw/draw-bytes.ts'
import { JoinChain } from '../../domain/draw/join-chain.ts'
import type { BuyerId } from '../../domain/ids.ts'
import type { LineRate } from '../../domain/line.ts'
import type { JoinEnd, LineStatus, LineStep } from '../../ledger/lines.ts'
import { type BuyerHash, BuyerNumbers } from './buyer-numbers.ts'
import { PositionMarks } from './position-marks.ts'

/** Heads are kept in blocks of so many, so that growing copies nothing. */
const HEADS_PER_BLOCK = 16_384

export class LineBook {
  readonly saltKey: Uint8Array
  readonly #buyers: BuyerNumbers
  readonly #chain: JoinChain
  readonly #heads: Uint8Array[] = []
  /** By number, of those who count no more. */
  readonly #gone = new PositionMarks()
  /** The same by position, where positions are drawn. */
  #goneAt = this.#gone
  /** At [number]: its position. Undefined: not drawn; later numbers keep theirs. */
  #drawn: Uint32Array | undefined
  readonly #isDraw: boolean
  /** Every join up to this number is known. */
  numbers = 0
  /** Every end up to this one is known. */
  leaves = 0
  letIn = 0
  rate: LineRate | undefined
  paused = false
  /** Oldest first. Of those that no time to claim depends on any more, the last is there: all before it were let in then or earlier. */
  steps: LineStep[] = []
  /** Has everything been read once? */
  isLoaded = false

  /** @param head the head before the first join */
  constructor({ saltKey }: Pick<LineStatus, 'saltKey'>, head: Uint8Array, hash: BuyerHash, isDraw: boolean) {
    this.saltKey = saltKey
    this.#buyers = new BuyerNumbers(hash)
    this.#chain = new JoinChain(head)
    this.#isDraw = isDraw
  }

  /** How many are in line. */
  get joined(): number {
    return this.numbers - this.#gone.count
  }

  get isDrawn(): boolean {
    return this.#drawn !== undefined
  }

  /** The next number in order. */
  add(buyer: BuyerId, proof: Uint8Array): void {
    this.numbers += 1
    this.#chain.add(proof)
    const block = Math.floor((this.numbers - 1) / HEADS_PER_BLOCK)
    this.#heads[block] ??= new Uint8Array(HEADS_PER_BLOCK * HASH_BYTES)
    this.#heads[block].set(this.#chain.head(), ((this.numbers - 1) % HEADS_PER_BLOCK) * HASH_BYTES)
    this.#buyers.set(buyer, this.numbers)
  }

  /** The next end in order. */
  end({ number, leftNo }: JoinEnd): void {
    assert(leftNo === this.leaves + 1, `end ${leftNo} of a line comes after end ${this.leaves}`)
    this.leaves = leftNo
    this.#gone.add(number)
    if (this.#drawn !== undefined) this.#goneAt.add(this.#positionIn(this.#drawn, number))
  }

  /** The positions were drawn: at [number] its position. */
  draw(positions: Uint32Array): void {
    if (this.#drawn !== undefined) return
    this.#drawn = positions
    this.#goneAt = new PositionMarks()
    for (let number = 1; number <= this.numbers; number++)
      if (this.#gone.has(number)) this.#goneAt.add(this.#positionIn(positions, number))
  }

  /** The mark was moved. */
  step(step: LineStep, keptMs: number): void {
    if (step.letIn <= this.letIn) return
    this.letIn = step.letIn
    this.steps.push(step)
    while (this.steps.length > 1 && this.steps[1]!.atMs < step.atMs - keptMs) this.steps.shift()
  }

  /** The number of a buyer who is in line; undefined: not known here. */
  numberOf(buyer: BuyerId): number | undefined {
    const number = this.#buyers.get(buyer)
    return number === 0 || this.#gone.has(number) ? undefined : number
  }

  /** Undefined before the draw. */
  positionOf(number: number): number | undefined {
    if (!this.#isDraw) return number
    return this.#drawn === undefined ? undefined : this.#positionIn(this.#drawn, number)
  }

  headOf(number: number): Uint8Array | undefined {
    const block = this.#heads[Math.floor((number - 1) / HEADS_PER_BLOCK)]
    const at = ((number - 1) % HEADS_PER_BLOCK) * HASH_BYTES
    return number > this.numbers ? undefined : block?.slice(at, at + HASH_BYTES)
  }

  /** How many will be let in before this position. */
  ahead(position: number): number {
    const from = this.letIn + 1
    return position <= from ? 0 : position - from - this.#goneAt.between(from, position)
  }

  /** How many are not let in yet. */
  get waiting(): number {
    return this.ahead(this.numbers + 1)
  }

  /** Where the mark must be for so many more to be let in; joins that count no more are passed on the way. */
  markFor(count: number): number {
    let mark = this.letIn
    let rest = Math.min(count, this.waiting)
    while (rest > 0) {
      mark += rest
      rest = count - (mark - this.letIn - this.#goneAt.between(this.letIn + 1, mark + 1))
      rest = Math.min(rest, this.numbers - mark)
    }
    return mark
  }

  /** How many were let in by moving the mark from one position to another. */
  countBetween(from: number, to: number): number {
    return to - from - this.#goneAt.between(from + 1, to + 1)
  }

  /** When the position was let in. Undefined: not yet. `-Infinity`: longer ago than steps are kept. */
  letInAtMs(position: number): number | undefined {
    if (position > this.letIn) return undefined
    const first = this.steps[0]
    if (first === undefined) return Number.NEGATIVE_INFINITY
    let [low, high] = [0, this.steps.length - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.steps[middle]!.letIn >= position) high = middle
      else low = middle + 1
    }
    return this.steps[low]!.atMs
  }

  get bytes(): number {
    return this.#buyers.bytes + this.#heads.length * HEADS_PER_BLOCK * HASH_BYTES + (this.#drawn?.byteLength ?? 0)
  }

  #positionIn(drawn: Uint32Array, number: number): number {
    return number < drawn.length ? drawn[number]! : number
  }
}
