/**
 * One item while one epoch sells it: the units left, the window, the numbered changes, and the book of who holds what.
 * Guarantees: left ≥ 0; left + held moves only by numbered changes; every call checks all its arguments before it changes anything.
 * Does not know which epoch may sell: `memory-gate.ts` asks here only when this one may.
 */

import { assert } from '../../base/assert.ts'
import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import { checkAsk, checkChange, checkRelease, checkWindowState } from '../arguments.ts'
import {
  type Ask,
  type AskAnswer,
  type AskCode,
  CHANGES_REMEMBERED,
  type ChangeReply,
  type GateStatus,
  type Holding,
  type Release,
  type ReserveReply,
  type Terms,
  type WindowState,
} from '../gate.ts'
import type { Attempt, Book } from './book.ts'

type Status = 'ok' | 'early' | 'over' | 'paused'
type Wish = Pick<Ask, 'buyer' | 'attempt' | 'quantity'>

export class ActiveEpoch {
  readonly #look: { -readonly [K in keyof GateStatus]: GateStatus[K] }
  readonly #book: Book
  readonly #attemptsMax: number
  /** The first number this epoch can have applied, and what the latest ones took, each at its number's remainder. */
  readonly #changesFrom: number
  readonly #taken = new Float64Array(CHANGES_REMEMBERED)

  /** `terms` are checked by `checkTerms`, and the book adds up to them. */
  constructor(item: ItemId, epoch: Epoch, terms: Terms, book: Book) {
    const { left, held, buyers, stateNo, state, opensAtMs, closesAtMs, changeNo } = terms
    this.#look = { item, epoch, version: 1, left, held, buyers, stateNo, state, opensAtMs, closesAtMs, changeNo }
    this.#book = book
    this.#attemptsMax = terms.attemptsMax
    this.#changesFrom = changeNo + 1
  }

  /** Live: always as it stands. */
  get look(): GateStatus {
    return this.#look
  }

  reserve(nowMs: number, asks: readonly Ask[]): ReserveReply {
    for (const ask of asks) checkAsk(ask)

    const look = this.#look
    const status = this.#status(nowMs)
    const leftBefore = look.left
    const answers: AskAnswer[] = new Array(asks.length)
    for (let i = 0; i < asks.length; i++) answers[i] = this.#decide(asks[i]!, status, nowMs)
    if (look.left !== leftBefore) this.#changed()
    return { status, epoch: look.epoch, version: look.version, left: look.left, answers }
  }

  #decide(ask: Ask, status: Status, nowMs: number): AskAnswer {
    const standing = this.#book.standing(ask.buyer, ask.attempt)
    if (standing !== undefined) return answer(standing.live ? 'same' : 'same_closed', standing)
    if (status !== 'ok') return refusal('not_now', ask)
    const refused = this.#refuses(ask)
    if (refused !== undefined) return refusal(refused, ask)
    if (this.#book.hasOrder(ask.order)) return refusal('id_conflict', ask)

    const taken = { order: ask.order, attempt: ask.attempt, quantity: ask.quantity, live: true, reservedAtMs: nowMs }
    this.#book.add(ask.buyer, taken)
    this.#look.left -= ask.quantity
    return answer('reserved', taken)
  }

  /** As `reserve` would refuse it, in a window that is open; undefined for everything else. */
  refusal(nowMs: number, ask: Wish) {
    if (this.#book.standing(ask.buyer, ask.attempt) !== undefined || this.#status(nowMs) !== 'ok') return undefined
    return this.#refuses(ask)
  }

  #refuses({ attempt, quantity }: Wish): 'attempts_used' | 'not_enough' | undefined {
    if (attempt > this.#attemptsMax) return 'attempts_used'
    return quantity > this.#look.left ? 'not_enough' : undefined
  }

  release(releases: readonly Release[]): void {
    for (const one of releases) checkRelease(one)
    let changed = false
    for (const { order, buyer, attempt, outcome } of releases) {
      const live = this.#book.live(buyer, attempt, order)
      if (live === undefined) continue
      if (outcome === 'refused') this.#book.forget(buyer, live)
      else this.#book.close(live)
      if (outcome !== 'gone') this.#look.left += live.quantity
      changed = true
    }
    if (changed) this.#changed()
  }

  change(no: number, delta: number): ChangeReply {
    checkChange(no, delta)
    assert(Number.isSafeInteger(this.#look.left + delta), `stock change by ${delta}`)
    const look = this.#look
    if (no > look.changeNo + 1) return { status: 'gap', changeNo: look.changeNo }
    if (no <= look.changeNo) {
      const remembered = no >= this.#changesFrom && no > look.changeNo - CHANGES_REMEMBERED
      if (!remembered) return { status: 'past', changeNo: look.changeNo }
      return { status: 'done', taken: this.#taken[no % CHANGES_REMEMBERED]! }
    }
    const taken = delta < 0 ? Math.max(delta, 0 - look.left) : delta
    this.#taken[no % CHANGES_REMEMBERED] = taken
    look.changeNo = no
    look.left += taken
    this.#changed()
    return { status: 'done', taken }
  }

  set(word: WindowState): void {
    checkWindowState(word)
    const { stateNo, state, opensAtMs, closesAtMs } = word
    const look = this.#look
    // Overtaken on its way.
    if (stateNo < look.stateNo) return
    const same = look.state === state && look.opensAtMs === opensAtMs && look.closesAtMs === closesAtMs
    if (same && look.stateNo === stateNo) return
    look.stateNo = stateNo
    look.state = state
    look.opensAtMs = opensAtMs
    look.closesAtMs = closesAtMs
    this.#changed()
  }

  knows(buyer: BuyerId): boolean {
    return this.#book.hasBuyer(buyer)
  }

  find(buyer: BuyerId): Holding[] {
    return this.#book.holdings(buyer)
  }

  pages(pageMax: number): Generator<Holding[]> {
    return this.#book.pages(pageMax)
  }

  #status(nowMs: number): Status {
    const { state, opensAtMs, closesAtMs } = this.#look
    if (state === 'over' || nowMs >= closesAtMs) return 'over'
    if (nowMs < opensAtMs) return 'early'
    return state === 'paused' ? 'paused' : 'ok'
  }

  /** Units are counted here and units in the book, each by itself; the view shows both. */
  #changed(): void {
    const look = this.#look
    look.held = this.#book.held
    look.buyers = this.#book.buyers
    look.version += 1
    assert(look.left >= 0 && look.held >= 0, `item ${look.item} has ${look.left} left and ${look.held} held`)
  }
}

function answer(code: AskCode, standing: Attempt): AskAnswer {
  return { code, order: standing.order, quantity: standing.quantity, reservedAtMs: standing.reservedAtMs }
}

function refusal(code: AskCode, ask: Ask): AskAnswer {
  return { code, order: ask.order, quantity: ask.quantity, reservedAtMs: 0 }
}
