/**
 * One life of an item, told to a gate and to the reference gate at once: reservations, releases, stock changes, fences, rebuilds, moves
 * between shards, lost replies, a clock that jumps. After every step both must have said the same and show the same, and the units must add
 * up. What a gate has no word for (moves in one shard, a drop elsewhere than in the process) passes without effect.
 *
 * A clock that can't be stood still is compared by the hour: windows begin and end hours apart and half an hour from now, and the moment of
 * a reservation is taken over from the gate's own book.
 */

import { deepStrictEqual } from 'node:assert/strict'
import { Bug } from '../../base/assert.ts'
import type { Epoch, OrderId } from '../../domain/ids.ts'
import { shardsFor } from '../../domain/shards.ts'
import type { Ask, Gate, GateStatus, Holding, Terms, WindowState } from '../gate.ts'
import { shardIdFor, shardOf } from '../shard-ids.ts'
import { createFaultyGate, type GateMishap } from './faulty-gate.ts'
import { ModelMoves } from './model-moves.ts'
import { BUYERS, type Call, type Planned } from './model-steps.ts'
import type { ModelSubject } from './model-subject.ts'
import { buyersOf, heldOf, leftIn, ReferenceGate } from './reference-gate.ts'

const HOUR_MS = 3_600_000
const ATTEMPTS_MAX = 3

export class ModelLife {
  readonly told = new Map<string, number>()
  /** What must be in the outbox: orders by place and epoch, in their order. */
  readonly queued = new Map<string, OrderId[]>()
  readonly #subject: ModelSubject
  readonly #shardsOf = new Map<Epoch, number>()
  readonly #model: ReferenceGate
  /** Every attempt that ever was, so that old ones can come back. */
  readonly #past: Holding[] = []
  #mishap: GateMishap | undefined
  readonly #faulty: Gate
  /** What the gate's clock would say if it could go back. */
  #clockMs: number
  #orders = 0
  #lastStatus: GateStatus | undefined
  readonly #moves: ModelMoves

  constructor(subject: ModelSubject) {
    this.#subject = subject
    this.#faulty = createFaultyGate(subject.gate, () => this.#mishap)
    this.#model = new ReferenceGate(epoch => this.#countOf(epoch))
    this.#moves = new ModelMoves(subject, this.#model)
    this.#clockMs = subject.clock === 'stands' ? subject.nowMs : 1_000 * HOUR_MS
    this.#model.nowMs = this.#clockMs
  }

  async live(plan: readonly Planned[]): Promise<void> {
    await this.#rebuild(1, false)
    await this.#check()
    for (const { step, mishap } of plan) {
      this.#count(step.verb)
      switch (step.verb) {
        case 'clock':
          this.#moveClock(step.by)
          break
        case 'drop':
          if (this.#subject.localView === undefined) break
          this.#subject.localView.drop(this.#subject.item)
          this.#model.drop()
          break
        case 'rebuild':
          await this.#rebuild(step.pages, step.few)
          break
        case 'changes':
          for (let i = 0; i < step.count; i++)
            await this.#call({ verb: 'change', epoch: 0, no: 1, delta: step.delta }, undefined)
          break
        case 'move':
          this.#count(await this.#moves.goOn(step))
          break
        default:
          await this.#call(step, step.verb !== 'reserve' && mishap === 'busy' ? undefined : mishap)
      }
      await this.#check()
    }
  }

  get #runs(): boolean {
    return this.#subject.clock === 'runs'
  }

  /** Hundredths of a tick: ms of a clock that stands, whole hours of one that runs. */
  #ticks(hundredths: number): number {
    return this.#runs ? Math.round(hundredths / 100) * HOUR_MS : hundredths
  }

  #toReal(modelMs: number): number {
    return this.#runs ? this.#subject.nowMs - HOUR_MS / 2 + (modelMs - 1_000 * HOUR_MS) : modelMs
  }

  #real<W extends WindowState>(windowState: W): W {
    return {
      ...windowState,
      opensAtMs: this.#toReal(windowState.opensAtMs),
      closesAtMs: this.#toReal(windowState.closesAtMs),
    }
  }

  #moveClock(by: number): void {
    const ms = this.#runs ? Math.sign(by) * HOUR_MS : by
    this.#subject.moveClock(ms)
    this.#clockMs += ms
    this.#model.clockShows(this.#clockMs)
  }

  #countOf(epoch: Epoch): number {
    const count = this.#shardsOf.get(epoch) ?? this.#subject.several?.count ?? 1
    this.#shardsOf.set(epoch, count)
    return count
  }

  /** As a keeper does before it loads, and a follower for what sells. */
  #learn(epoch: Epoch): void {
    this.#subject.several?.learn(epoch, this.#countOf(epoch))
    if (this.#model.active)
      this.#subject.several?.learn(this.#model.active.epoch, this.#countOf(this.#model.active.epoch))
  }

  async #rebuild(pages: number, few: boolean): Promise<void> {
    const { item } = this.#subject
    const model = this.#model
    const now = model.active
    const attempts = now?.attempts ?? []
    const epoch = model.seen + 1
    if (few && !this.#shardsOf.has(epoch)) this.#shardsOf.set(epoch, 1)
    const left = now === undefined ? 6 : leftIn(now) + now.moving
    const terms = this.#terms(left, attempts, now === undefined ? 0 : now.terms.changeNo + now.taken.length)
    const fence = (gate: Gate) => gate.fence(item, epoch)
    this.#learn(epoch)
    await this.#both(undefined, fence, () => model.fence(epoch))
    const size = Math.max(1, Math.ceil(attempts.length / pages))
    for (let i = 0; i < attempts.length; i += size) {
      const page = attempts.slice(Math.max(0, i - 1), i + size)
      const load = (gate: Gate) => gate.load(item, epoch, page)
      await this.#both(undefined, load, () => model.load(epoch, page))
    }
    await this.#activate(undefined, epoch, terms)
  }

  #terms(left: number, attempts: readonly Holding[], changeNo: number): Terms {
    const now = this.#model.nowMs
    const counts = { left, held: heldOf(attempts), buyers: buyersOf(attempts), attemptsMax: ATTEMPTS_MAX, changeNo }
    const stateNo = this.#model.active?.windowState.stateNo ?? 0
    return {
      ...counts,
      stateNo,
      state: 'open',
      opensAtMs: now + this.#ticks(-100),
      closesAtMs: now + this.#ticks(1_000),
    }
  }

  async #activate(mishap: GateMishap | undefined, epoch: Epoch, terms: Terms): Promise<void> {
    const activate = (gate: Gate) => gate.activate(this.#subject.item, epoch, this.#real(terms))
    await this.#both(mishap, activate, () => this.#model.activate(epoch, terms))
  }

  async #call(step: Call, mishap: GateMishap | undefined): Promise<void> {
    const model = this.#model
    const { item } = this.#subject
    const selling = Math.max(1, (model.active?.epoch ?? model.seen) + step.epoch)
    const keeper = Math.max(1, model.seen + step.epoch)
    switch (step.verb) {
      case 'reserve': {
        const asks = step.asks.map(({ reuse, ...wish }) => ({
          ...wish,
          order: this.#order(reuse, wish.buyer),
          askedAtMs: 1,
        }))
        return this.#both(
          mishap,
          gate => gate.reserve(item, selling, asks),
          () => model.reserve(selling, asks),
          asks,
        )
      }
      case 'release': {
        const releases = step.releases.map(({ pick, outcome, wrong }) => {
          const { order, buyer, attempt } = this.#pick(pick)
          const other = this.#pick(pick + 1)
          return {
            order: wrong === 1 ? other.order : order,
            buyer: wrong === 2 ? other.buyer : buyer,
            attempt: wrong === 3 ? attempt + 1 : attempt,
            outcome,
          }
        })
        return this.#both(
          mishap,
          gate => gate.release(item, selling, releases),
          () => model.release(selling, releases),
        )
      }
      case 'change': {
        const now = model.active
        const no = Math.max(1, step.no + (now === undefined ? 0 : now.terms.changeNo + now.taken.length))
        return this.#both(
          mishap,
          gate => gate.change(item, selling, no, step.delta),
          () => model.change(selling, no, step.delta),
        )
      }
      case 'set': {
        const opens = model.nowMs + this.#ticks(step.opens)
        const closes = opens + Math.max(this.#runs ? HOUR_MS : 1, this.#ticks(step.lasts))
        const stateNo = Math.max(0, (model.active?.windowState.stateNo ?? 0) + step.no)
        const windowState = { stateNo, state: step.state, opensAtMs: opens, closesAtMs: closes }
        const set = (gate: Gate) => gate.set(item, selling, this.#real(windowState))
        return this.#both(mishap, set, () => model.set(selling, windowState))
      }
      case 'fence':
        return this.#both(
          mishap,
          gate => gate.fence(item, keeper),
          () => model.fence(keeper),
        )
      case 'load': {
        const page = step.picks.map(pick => this.#pick(pick))
        const [first] = page
        if (first !== undefined && step.flaw === 1) page.push({ ...first, quantity: first.quantity + 1 })
        if (first !== undefined && step.flaw === 2) page.push({ ...first, attempt: first.attempt + 1 })
        if (first !== undefined && step.flaw === 3)
          page.push({ ...first, attempt: first.attempt + 1, order: this.#order(-1, first.buyer) })
        // Of several shards those that are told no contradiction have taken their part; nobody goes on after a bug.
        if (this.#subject.several !== undefined && model.contradicts(keeper, page)) return
        this.#learn(keeper)
        return this.#both(
          mishap,
          gate => gate.load(item, keeper, page),
          () => model.load(keeper, page),
        )
      }
      case 'activate': {
        const right = this.#terms(step.left, model.loading?.attempts ?? [], step.changeNo)
        this.#learn(keeper)
        return this.#activate(mishap, keeper, { ...right, held: Math.max(0, right.held + step.flaw) })
      }
      case 'find': {
        const holdings = () =>
          model.active!.attempts.filter(one => one.buyer === step.buyer).sort((a, b) => a.attempt - b.attempt)
        const found = () =>
          model.selling() === undefined ? { status: 'stale' } : { status: 'ok', holdings: holdings() }
        return this.#both(mishap, gate => gate.find(item, step.buyer), found)
      }
    }
  }

  /** Both are told; both must say the same, or both call it a bug. A lost call never reaches the model, a lost answer does. */
  async #both(
    mishap: GateMishap | undefined,
    call: (gate: Gate) => Promise<object>,
    expected: () => object,
    asks: readonly Ask[] = [],
  ): Promise<void> {
    this.#mishap = mishap
    const said = await bugOr(() => call(this.#faulty))
    const reached = mishap === undefined || mishap === 'unknown_done'
    const right = reached ? await bugOr(async () => expected()) : undefined
    if (typeof right === 'object' && 'answers' in right) await this.#taken(right.answers as Answer[], asks)
    const status = typeof said === 'string' ? said : (said as { status: string }).status
    this.#count(status)
    if (typeof said === 'object' && 'answers' in said)
      for (const { code } of said.answers as Answer[]) this.#count(code)
    if (mishap === undefined || right === 'bug') deepStrictEqual(this.#comparable(said), this.#comparable(right))
    else deepStrictEqual(status, mishap === 'unknown_done' ? 'unknown' : mishap)
  }

  /** What the model took: it is in the outbox, at the moment that the gate's own book says. */
  async #taken(answers: Answer[], asks: readonly Ask[]): Promise<void> {
    const { item, gate } = this.#subject
    const { attempts, epoch } = this.#model.active!
    for (const [i, answer] of answers.entries()) {
      const { buyer } = asks[i]!
      if (answer.code === 'reserved') {
        const key = `${shardIdFor(item, this.#countOf(epoch), buyer)} ${epoch}`
        this.queued.set(key, [...(this.queued.get(key) ?? []), answer.order])
      }
      if (!this.#runs || (answer.code !== 'reserved' && answer.code !== 'same')) continue
      const at = attempts.findIndex(one => one.order === answer.order && one.buyer === buyer)
      if (answer.code === 'reserved') {
        const found = await gate.find(item, buyer)
        const existing = found.status === 'ok' ? found.holdings.find(one => one.order === answer.order) : undefined
        if (existing !== undefined) attempts[at] = { ...attempts[at]!, reservedAtMs: existing.reservedAtMs }
      }
      // A double click within the batch was answered by the model before it took the moment over.
      answer.reservedAtMs = attempts[at]!.reservedAtMs
    }
  }

  /** Versions have no model. Of several shards one alone may know which epoch it has seen, and where a batch was decided. */
  #comparable(reply: object | 'bug' | undefined): unknown {
    if (typeof reply !== 'object') return reply
    const rest: Partial<Record<'version' | 'shard' | 'status' | 'epoch', unknown>> = { ...reply }
    delete rest.version
    delete rest.shard
    if (this.#subject.several !== undefined && rest.status === 'stale') delete rest.epoch
    return rest
  }

  async #check(): Promise<void> {
    const { item, gate, localView } = this.#subject
    const now = this.#model.selling()
    const { nowMs, items } = await gate.status([item])
    if (!this.#runs) deepStrictEqual(nowMs, this.#model.nowMs)
    const [gateStatus] = items
    if (localView !== undefined) {
      deepStrictEqual(localView.statusNow(item), gateStatus)
      const known = (buyer: string) => this.#model.active?.attempts.some(one => one.buyer === buyer) ?? false
      for (const buyer of BUYERS) deepStrictEqual(localView.knows(item, buyer), known(buyer))
    }
    deepStrictEqual(gateStatus?.epoch, now?.epoch)
    if (now === undefined || gateStatus === undefined) return

    const { lefts, moving, windowState, attempts, terms, taken, gone } = now
    const { version: _, shards, uneven = false, moving: underWay = 0, scattered = false, ...shown } = gateStatus
    deepStrictEqual(shown, {
      item,
      epoch: now.epoch,
      left: leftIn(now),
      held: heldOf(attempts),
      buyers: buyersOf(attempts),
      ...this.#real(windowState),
      changeNo: terms.changeNo + taken.length,
    })
    const few = shardsFor(leftIn(now) + moving, lefts.length) < lefts.length
    deepStrictEqual(
      { lefts: shards?.map(shard => shard.left) ?? [gateStatus.left], underWay, uneven, scattered },
      { lefts, underWay: moving, uneven: false, scattered: few },
    )
    this.#checkVersion(gateStatus)

    const found: Holding[] = []
    for (const buyer of BUYERS) {
      const reply = await gate.find(item, buyer)
      const holdings = reply.status === 'ok' ? reply.holdings : []
      deepStrictEqual(holdings.filter(one => one.live).length <= 1, true, `${buyer} has two live reservations`)
      found.push(...holdings)
    }
    const sorted = (list: readonly Holding[]) => list.toSorted((one, other) => (one.order < other.order ? -1 : 1))
    deepStrictEqual(sorted(found), sorted(attempts))
    deepStrictEqual(new Set(found.map(one => one.order)).size, found.length, 'one id stands for two reservations')
    deepStrictEqual(
      lefts.every(left => left >= 0),
      true,
      'less than nothing is left',
    )
    const unitsIn = terms.left + terms.held + taken.reduce((sum, one) => sum + one, 0) - gone
    deepStrictEqual(gateStatus.left + underWay + heldOf(found), unitsIn, 'units appeared or disappeared')
    for (const one of attempts) if (!this.#past.some(old => old.order === one.order)) this.#past.push(one)
  }

  #checkVersion(gateStatus: GateStatus): void {
    const last = this.#lastStatus
    this.#lastStatus = gateStatus
    if (last?.epoch !== gateStatus.epoch) return
    const comparable = ({ shards, ...rest }: GateStatus) =>
      JSON.stringify({ ...rest, version: 0, shards: shards?.map(({ left, moveNo }) => ({ left, moveNo })) })
    if (comparable(gateStatus) !== comparable(last))
      deepStrictEqual(gateStatus.version > last.version, true, 'something changed under the same version')
  }

  /** A new id, or an old one of a buyer in the same shard: between shards the ledger tells them apart. */
  #order(reuse: number, buyer: string): OrderId {
    const count = this.#subject.several?.count ?? 1
    const old = this.#past.filter(one => shardOf(one.buyer, count) === shardOf(buyer, count)).at(-1 - reuse)
    return (reuse < 0 ? undefined : old?.order) ?? String(9_007_199_254_740_993n + BigInt(++this.#orders))
  }

  /** An attempt that is or was, rather a recent one; or one that never was. */
  #pick(pick: number): Holding {
    const never = { order: '999', buyer: 'a', attempt: 1, quantity: 1, live: true, reservedAtMs: 1 }
    const now = this.#model.active?.attempts ?? []
    return (pick % 3 === 0 ? this.#past.at(-1 - pick / 3) : now.at(-1 - (pick % Math.max(1, now.length)))) ?? never
  }

  #count(what: string): void {
    this.told.set(what, (this.told.get(what) ?? 0) + 1)
  }
}

interface Answer {
  readonly code: string
  readonly order: OrderId
  reservedAtMs: number
}

async function bugOr(call: () => Promise<object>): Promise<object | 'bug'> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof Bug) return 'bug'
    throw error
  }
}
