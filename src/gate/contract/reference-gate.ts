/**
 * The gate once more, in the plainest words there are: one list per epoch, read from one end to the other. Slow, and meant to be
 * checked by reading; `contract/model-life.ts` holds the real ones against it. Takes well-formed arguments only, and shows no version.
 * An epoch may have several shards: each has its own units and its own buyers, and what one lacks another may have.
 */

import { assert } from '../../base/assert.ts'
import {
  type Ask,
  type AskCode,
  CHANGES_REMEMBERED,
  type ChangeReply,
  type Holding,
  type Release,
  type Terms,
  type WindowState,
} from '../gate.ts'
import { shardOf } from '../shard-ids.ts'

interface ReferenceEpoch {
  epoch: number
  terms: Terms
  /** Of each shard. */
  lefts: number[]
  /** Taken from one shard, not given to another yet. */
  moving: number
  windowState: WindowState
  attempts: Holding[]
  /** What change number `terms.changeNo + 1 + i` took. */
  taken: number[]
  /** Units written off. */
  gone: number
}

export class ReferenceGate {
  nowMs = 0
  seen = 0
  fenced = 0
  active: ReferenceEpoch | undefined
  loading: { epoch: number; attempts: Holding[] } | undefined
  readonly #shardsOf: (epoch: number) => number

  constructor(shardsOf: (epoch: number) => number = () => 1) {
    this.#shardsOf = shardsOf
  }

  /** Up to two seconds back are outwaited; a clock that goes back further was wrong before. */
  clockShows(ms: number): void {
    if (ms > this.nowMs || ms < this.nowMs - 2_000) this.nowMs = ms
  }

  selling(epoch?: number): ReferenceEpoch | undefined {
    if (this.active === undefined || this.active.epoch < this.fenced) return undefined
    return epoch === undefined || epoch === this.active.epoch ? this.active : undefined
  }

  reserve(epoch: number, asks: readonly Ask[]): { status: string; answers?: unknown[]; left?: number; epoch: number } {
    const now = this.selling(epoch)
    if (now === undefined) return { status: 'stale', epoch: this.seen }
    let status = 'ok'
    const { state, opensAtMs, closesAtMs } = now.windowState
    if (state === 'paused') status = 'paused'
    if (this.nowMs < opensAtMs) status = 'early'
    if (state === 'over' || this.nowMs >= closesAtMs) status = 'over'
    const answers = asks.map(ask => this.#decide(now, status, ask))
    const left = leftIn(now) + now.moving
    for (const answer of answers) if (answer.code === 'not_enough' && answer.quantity <= left) answer.code = 'wait'
    return { status, answers, left, epoch }
  }

  #decide(
    now: ReferenceEpoch,
    status: string,
    ask: Ask,
  ): { code: AskCode; order: string; quantity: number; reservedAtMs: number } {
    const mine = now.attempts.filter(one => one.buyer === ask.buyer)
    const existing = mine.find(one => one.attempt === ask.attempt) ?? mine.find(one => one.live)
    if (existing !== undefined) {
      const { order, quantity, reservedAtMs } = existing
      return { code: existing.live ? 'same' : 'same_closed', order, quantity, reservedAtMs }
    }
    const { order, quantity } = ask
    const no = (code: AskCode) => ({ code, order, quantity, reservedAtMs: 0 })
    if (status !== 'ok') return no('not_now')
    if (ask.attempt > now.terms.attemptsMax) return no('attempts_used')
    const shard = shardOf(ask.buyer, now.lefts.length)
    if (quantity > now.lefts[shard]!) return no('not_enough')
    if (now.attempts.some(one => one.order === order)) return no('id_conflict')
    const reservedAtMs = this.nowMs
    now.attempts.push({ order, buyer: ask.buyer, attempt: ask.attempt, quantity, live: true, reservedAtMs })
    now.lefts[shard]! -= quantity
    return { code: 'reserved', order, quantity, reservedAtMs }
  }

  release(epoch: number, releases: readonly Release[]): { status: string } {
    const now = this.selling(epoch)
    if (now === undefined) return { status: 'stale' }
    for (const { order, buyer, attempt, outcome } of releases) {
      const i = now.attempts.findIndex(
        one => one.order === order && one.buyer === buyer && one.attempt === attempt && one.live,
      )
      if (i === -1) continue
      const given = now.attempts[i]!
      if (outcome === 'gone') now.gone += given.quantity
      else now.lefts[shardOf(buyer, now.lefts.length)]! += given.quantity
      if (outcome === 'refused') now.attempts.splice(i, 1)
      else now.attempts[i] = { ...given, live: false }
    }
    return { status: 'done' }
  }

  change(epoch: number, no: number, delta: number): ChangeReply {
    const now = this.selling(epoch)
    if (now === undefined) return { status: 'stale' }
    const changeNo = now.terms.changeNo + now.taken.length
    if (no > changeNo + 1) return { status: 'gap', changeNo }
    if (no <= now.terms.changeNo || no <= changeNo - CHANGES_REMEMBERED) return { status: 'past', changeNo }
    if (no === changeNo + 1) {
      // Fewer are taken from the first shards, more are spread over all.
      const before = leftIn(now)
      const taken = delta < 0 ? Math.max(delta, 0 - before) : delta
      let wanted = 0 - taken
      const more = spread(Math.max(0, delta), now.lefts.length)
      now.lefts = now.lefts.map((left, i) => {
        const less = Math.min(left, Math.max(0, wanted))
        wanted -= less
        return left - less + more[i]!
      })
      now.taken.push(taken)
    }
    return { status: 'done', taken: now.taken[no - now.terms.changeNo - 1]! }
  }

  /** What was really taken. Given with `give`. */
  take(from: number, units: number): number {
    const now = this.active!
    now.moving = Math.min(units, now.lefts[from]!)
    now.lefts[from]! -= now.moving
    return now.moving
  }

  give(to: number): void {
    const now = this.active!
    now.lefts[to]! += now.moving
    now.moving = 0
  }

  set(epoch: number, windowState: WindowState): { status: string } {
    const now = this.selling(epoch)
    if (now === undefined) return { status: 'stale' }
    if (windowState.stateNo >= now.windowState.stateNo) now.windowState = windowState
    return { status: 'done' }
  }

  fence(epoch: number): { status: string } {
    if (epoch < this.seen) return { status: 'stale' }
    if (this.loading?.epoch !== epoch) this.loading = undefined
    this.seen = epoch
    this.fenced = epoch
    return { status: 'done' }
  }

  load(epoch: number, page: readonly Holding[]): { status: string } {
    if (this.#mayNotLoad(epoch)) return { status: 'stale' }
    const attempts = this.#loadedWith(epoch, page)
    assert(attempts !== undefined, 'pages contradict each other')
    this.loading = { epoch, attempts }
    this.seen = epoch
    return { status: 'done' }
  }

  /** Would it be a bug to load this page? */
  contradicts(epoch: number, page: readonly Holding[]): boolean {
    return !this.#mayNotLoad(epoch) && this.#loadedWith(epoch, page) === undefined
  }

  #mayNotLoad(epoch: number): boolean {
    return epoch < this.seen || this.active?.epoch === epoch
  }

  #loadedWith(epoch: number, page: readonly Holding[]): Holding[] | undefined {
    const all = this.loading?.epoch === epoch ? [...this.loading.attempts] : []
    for (const one of page) {
      if (all.some(other => JSON.stringify(other) === JSON.stringify(one))) continue
      const clash = (other: Holding) =>
        other.order === one.order ||
        (other.buyer === one.buyer && (other.attempt === one.attempt || (other.live && one.live)))
      if (all.some(clash)) return undefined
      all.push(one)
    }
    return all
  }

  activate(epoch: number, terms: Terms): { status: string } {
    if (this.selling(epoch) !== undefined) return { status: 'done' }
    if (epoch < this.seen) return { status: 'stale' }
    const attempts = this.loading?.epoch === epoch ? this.loading.attempts : []
    assert(heldOf(attempts) === terms.held && buyersOf(attempts) === terms.buyers, 'the snapshot does not add up')
    const { stateNo, state, opensAtMs, closesAtMs } = terms
    const lefts = spread(terms.left, this.#shardsOf(epoch))
    const windowState = { stateNo, state, opensAtMs, closesAtMs }
    this.active = { epoch, terms, lefts, moving: 0, windowState, attempts: [...attempts], taken: [], gone: 0 }
    this.loading = undefined
    this.seen = epoch
    this.fenced = epoch
    return { status: 'done' }
  }

  drop(): void {
    if (this.active === undefined && this.loading === undefined) return
    this.seen += 1
    this.fenced = this.seen
    this.active = undefined
    this.loading = undefined
  }
}

function spread(units: number, shards: number): number[] {
  return Array.from({ length: shards }, (_, i) => Math.floor(units / shards) + (i < units % shards ? 1 : 0))
}

export function leftIn(epoch: ReferenceEpoch): number {
  return epoch.lefts.reduce((sum, left) => sum + left, 0)
}

export function heldOf(attempts: readonly Holding[]): number {
  return attempts.filter(one => one.live).reduce((sum, one) => sum + one.quantity, 0)
}

export function buyersOf(attempts: readonly Holding[]): number {
  return new Set(attempts.map(one => one.buyer)).size
}
