/**
 * One item under the epoch that sells it: the units left, the window, the numbered changes, and the book of reservations.
 * Guarantees: left ≥ 0; left + held moves only by numbered changes; every call checks all its arguments before it changes anything.
 * Does not know which epoch may sell: `memory-gate.ts` calls it only when this one may.
 */

import { assert } from '../../base/assert.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import { checkAsk, checkChange, checkRelease, checkWindowState } from '../arguments.ts'
import {
  type Ask,
  type AskAnswer,
  type AskCode,
  CHANGES_REMEMBERED,
  type ChangeReply,
  type GateStatus,
  type Release,
  type ReserveReply,
  type Terms,
  type WindowState,
} from '../gate.ts'
import type { Attempt, Book } from './book.ts'

const WINDOW = ['stateNo', 'state', 'opensAtMs', 'closesAtMs'] as const

type Status = 'ok' | 'early' | 'over' | 'paused'
type Wish = Pick<Ask, 'buyer' | 'attempt' | 'quantity'>

export class ActiveEpoch {
  /** Not a copy: it changes with every call. */
  readonly status: { -readonly [K in keyof GateStatus]: GateStatus[K] }
  readonly book: Book
  readonly #attemptsMax: number
  /** The first number this epoch can have applied, and what the latest ones took, each at its number's remainder. */
  readonly #changesFrom: number
  readonly #taken = new Float64Array(CHANGES_REMEMBERED)

  /** `terms` are checked by `checkTerms`, and the book adds up to them. */
  constructor(item: ItemId, epoch: Epoch, terms: Terms, book: Book) {
    const { left, held, buyers, stateNo, state, opensAtMs, closesAtMs, changeNo } = terms
    this.status = { item, epoch, version: 1, left, held, buyers, stateNo, state, opensAtMs, closesAtMs, changeNo }
    this.book = book
    this.#attemptsMax = terms.attemptsMax
    this.#changesFrom = changeNo + 1
  }

  reserve(nowMs: number, asks: readonly Ask[]): ReserveReply {
    for (const ask of asks) checkAsk(ask)

    const shown = this.status
    const status = this.#judge(nowMs)
    const leftBefore = shown.left
    const answers: AskAnswer[] = new Array(asks.length)
    for (let i = 0; i < asks.length; i++) answers[i] = this.#decide(asks[i]!, status, nowMs)
    if (shown.left !== leftBefore) this.#changed()
    return { status, epoch: shown.epoch, version: shown.version, left: shown.left, answers }
  }

  #decide(ask: Ask, status: Status, nowMs: number): AskAnswer {
    const existing = this.book.existing(ask.buyer, ask.attempt)
    if (existing !== undefined) return answer(existing.live ? 'same' : 'same_closed', existing, existing.reservedAtMs)
    if (status !== 'ok') return answer('not_now', ask)
    const refused = this.#refuses(ask)
    if (refused !== undefined) return answer(refused, ask)
    if (this.book.hasOrder(ask.order)) return answer('id_conflict', ask)

    const taken = { order: ask.order, attempt: ask.attempt, quantity: ask.quantity, live: true, reservedAtMs: nowMs }
    this.book.add(ask.buyer, taken)
    this.status.left -= ask.quantity
    return answer('reserved', taken, nowMs)
  }

  /** As `reserve` would refuse it, in a window that is open; undefined for everything else. */
  refusal(nowMs: number, ask: Wish) {
    if (this.book.existing(ask.buyer, ask.attempt) !== undefined || this.#judge(nowMs) !== 'ok') return undefined
    return this.#refuses(ask)
  }

  #refuses({ attempt, quantity }: Wish): 'attempts_used' | 'not_enough' | undefined {
    if (attempt > this.#attemptsMax) return 'attempts_used'
    return quantity > this.status.left ? 'not_enough' : undefined
  }

  release(releases: readonly Release[]): void {
    for (const one of releases) checkRelease(one)
    let changed = false
    for (const { order, buyer, attempt, outcome } of releases) {
      const units = this.book.end(buyer, attempt, order, outcome === 'refused')
      if (outcome !== 'gone') this.status.left += units
      changed ||= units > 0
    }
    if (changed) this.#changed()
  }

  change(no: number, delta: number): ChangeReply {
    checkChange(no, delta)
    assert(Number.isSafeInteger(this.status.left + delta), `stock change by ${delta}`)
    const shown = this.status
    if (no > shown.changeNo + 1) return { status: 'gap', changeNo: shown.changeNo }
    if (no <= shown.changeNo) {
      const remembered = no >= this.#changesFrom && no > shown.changeNo - CHANGES_REMEMBERED
      if (!remembered) return { status: 'past', changeNo: shown.changeNo }
      return { status: 'done', taken: this.#taken[no % CHANGES_REMEMBERED]! }
    }
    const taken = delta < 0 ? Math.max(delta, 0 - shown.left) : delta
    this.#taken[no % CHANGES_REMEMBERED] = taken
    shown.changeNo = no
    shown.left += taken
    this.#changed()
    return { status: 'done', taken }
  }

  set(to: WindowState): void {
    checkWindowState(to)
    const shown = this.status
    // A stale number is ignored.
    if (to.stateNo < shown.stateNo || WINDOW.every(field => to[field] === shown[field])) return
    const { stateNo, state, opensAtMs, closesAtMs } = to
    Object.assign(shown, { stateNo, state, opensAtMs, closesAtMs })
    this.#changed()
  }

  #judge(nowMs: number): Status {
    const { state, opensAtMs, closesAtMs } = this.status
    if (state === 'over' || nowMs >= closesAtMs) return 'over'
    if (nowMs < opensAtMs) return 'early'
    return state === 'paused' ? 'paused' : 'ok'
  }

  /** What is left is counted here, what is held in the book, each by itself; the status shows both. */
  #changed(): void {
    const shown = this.status
    shown.held = this.book.held
    shown.buyers = this.book.buyers
    shown.version += 1
    assert(shown.left >= 0 && shown.held >= 0, `item ${shown.item} has ${shown.left} left and ${shown.held} held`)
  }
}

function answer(code: AskCode, { order, quantity }: Ask | Attempt, reservedAtMs = 0): AskAnswer {
  return { code, order, quantity, reservedAtMs }
}
