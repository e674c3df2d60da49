/**
 * The gate once more, in the plainest words there are: one list per epoch, read from one end to the other. Slow, and meant to be
 * checked by reading; `gate.model.test.ts` holds the real ones against it. Takes well-formed arguments only, and shows no version.
 */

import { assert } from '../base/assert.ts'
import {
  type Ask,
  type AskCode,
  CHANGES_REMEMBERED,
  type ChangeReply,
  type GateState,
  type Holding,
  type Release,
  type Terms,
} from './gate.ts'

interface ReferenceEpoch {
  epoch: number
  terms: Terms
  left: number
  state: GateState
  opensAtMs: number
  closesAtMs: number
  attempts: Holding[]
  /** What change number `terms.changeNo + 1 + i` took. */
  taken: number[]
  /** Pieces written off. */
  gone: number
}

export class ReferenceGate {
  nowMs = 0
  seen = 0
  fenced = 0
  active: ReferenceEpoch | undefined
  loading: { epoch: number; attempts: Holding[] } | undefined

  selling(epoch?: number): ReferenceEpoch | undefined {
    if (this.active === undefined || this.active.epoch < this.fenced) return undefined
    return epoch === undefined || epoch === this.active.epoch ? this.active : undefined
  }

  reserve(epoch: number, asks: readonly Ask[]): { status: string; answers?: unknown[]; left?: number; epoch: number } {
    const now = this.selling(epoch)
    if (now === undefined) return { status: 'stale', epoch: this.seen }
    let status = 'ok'
    if (now.state === 'paused') status = 'paused'
    if (this.nowMs < now.opensAtMs) status = 'early'
    if (now.state === 'over' || this.nowMs >= now.closesAtMs) status = 'over'
    const answers = asks.map(ask => this.#decide(now, status, ask))
    return { status, answers, left: now.left, epoch }
  }

  #decide(
    now: ReferenceEpoch,
    status: string,
    ask: Ask,
  ): { code: AskCode; order: string; quantity: number; reservedAtMs: number } {
    const mine = now.attempts.filter(one => one.buyer === ask.buyer)
    const stands = mine.find(one => one.attempt === ask.attempt) ?? mine.find(one => one.live)
    if (stands !== undefined) {
      const { order, quantity, reservedAtMs } = stands
      return { code: stands.live ? 'same' : 'same_closed', order, quantity, reservedAtMs }
    }
    const { order, quantity } = ask
    const no = (code: AskCode) => ({ code, order, quantity, reservedAtMs: 0 })
    if (status !== 'ok') return no('not_now')
    if (ask.attempt > now.terms.attemptsMax) return no('attempts_used')
    if (quantity > now.left) return no('not_enough')
    if (now.attempts.some(one => one.order === order)) return no('foreign')
    const reservedAtMs = this.nowMs
    now.attempts.push({ order, buyer: ask.buyer, attempt: ask.attempt, quantity, live: true, reservedAtMs })
    now.left -= quantity
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
      else now.left += given.quantity
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
      const taken = now.left + delta < 0 ? 0 - now.left : delta
      now.left += taken
      now.taken.push(taken)
    }
    return { status: 'done', taken: now.taken[no - now.terms.changeNo - 1]! }
  }

  set(epoch: number, state: GateState, opensAtMs: number, closesAtMs: number): { status: string } {
    const now = this.selling(epoch)
    if (now === undefined) return { status: 'stale' }
    Object.assign(now, { state, opensAtMs, closesAtMs })
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
    if (epoch < this.seen || this.active?.epoch === epoch) return { status: 'stale' }
    const before = this.loading?.epoch === epoch ? this.loading.attempts : []
    const all = [...before]
    for (const one of page) {
      if (all.some(other => JSON.stringify(other) === JSON.stringify(one))) continue
      const clash = (other: Holding) =>
        other.order === one.order ||
        (other.buyer === one.buyer && (other.attempt === one.attempt || (other.live && one.live)))
      assert(!all.some(clash), 'pages contradict each other')
      all.push(one)
    }
    this.loading = { epoch, attempts: all }
    this.seen = epoch
    return { status: 'done' }
  }

  activate(epoch: number, terms: Terms): { status: string } {
    if (this.selling(epoch) !== undefined) return { status: 'done' }
    if (epoch < this.seen) return { status: 'stale' }
    const attempts = this.loading?.epoch === epoch ? this.loading.attempts : []
    assert(heldOf(attempts) === terms.held && buyersOf(attempts) === terms.buyers, 'the snapshot does not add up')
    const { left, state, opensAtMs, closesAtMs } = terms
    this.active = { epoch, terms, left, state, opensAtMs, closesAtMs, attempts: [...attempts], taken: [], gone: 0 }
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

export function heldOf(attempts: readonly Holding[]): number {
  return attempts.filter(one => one.live).reduce((sum, one) => sum + one.quantity, 0)
}

export function buyersOf(attempts: readonly Holding[]): number {
  return new Set(attempts.map(one => one.buyer)).size
}
