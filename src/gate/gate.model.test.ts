/**
 * Thousands of random lives of one item, told to the memory gate and to the reference gate at once; after every step both must have
 * said the same and show the same, and the units must add up. A failure prints its seed: `SEED=… bun test` walks the same way again.
 */

import { expect, test } from 'bun:test'
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { Bug } from '../base/assert.ts'
import { systemRandom } from '../base/random.ts'
import { createFaultyGate, type GateMishap } from './faulty-gate.ts'
import type { Ask, Gate, GateState, Holding, Look, Terms } from './gate.ts'
import { createMemoryGate } from './memory/memory-gate.ts'
import { buyersOf, heldOf, ReferenceGate } from './reference-gate.ts'

const LIVES = 6_000
const STEPS_MAX = 60
const ITEM = '77'
const BUYERS = ['a', 'b', 'c', 'd:1', '🐎']

type Step =
  | { verb: 'reserve'; epoch: number; asks: { buyer: string; attempt: number; quantity: number; reuse: number }[] }
  | {
      verb: 'release'
      epoch: number
      releases: { pick: number; outcome: 'closed' | 'refused' | 'gone'; wrong: number }[]
    }
  | { verb: 'change'; epoch: number; no: number; delta: number }
  | { verb: 'set'; epoch: number; state: GateState; opens: number; lasts: number }
  | { verb: 'fence'; epoch: number }
  | { verb: 'load'; epoch: number; picks: number[]; flaw: number }
  | { verb: 'activate'; epoch: number; left: number; changeNo: number; flaw: number }
  | { verb: 'find'; buyer: string }
type Event =
  | { verb: 'rebuild'; pages: number }
  | { verb: 'changes'; count: number; delta: number }
  | { verb: 'clock'; ms: number }
  | { verb: 'drop' }
type Planned = { readonly step: Step | Event; readonly mishap: GateMishap | undefined }

const upTo = (max: number) => fc.integer({ min: 0, max })
const between = (min: number, max: number) => fc.integer({ min, max })
const some = <T>(one: fc.Arbitrary<T>, maxLength: number) => fc.array(one, { maxLength })
const mostly = <T>(usual: T, ...rare: T[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 3, arbitrary: fc.constantFrom(...rare) })

function kind<V extends string, R extends object>(
  weight: number,
  verb: V,
  fields: { [K in keyof R]: fc.Arbitrary<R[K]> },
) {
  return { weight, arbitrary: fc.record(fields).map(rest => ({ verb, ...(rest as R) })) }
}

const buyer = fc.constantFrom(...BUYERS)
const epoch = mostly(0, -1, 1, 2)
const outcome = fc.constantFrom('closed' as const, 'refused' as const, 'gone' as const)
const state = mostly<GateState>('open', 'paused', 'over')
const wish = fc.record({
  buyer,
  attempt: mostly(1, 2, 2, 3, 4),
  quantity: mostly(1, 2, 3, 9),
  reuse: mostly(-1, 0, 1, 2),
})
const givenBack = fc.record({ pick: upTo(40), outcome, wrong: mostly(0, 1, 2, 3) })

const step: fc.Arbitrary<Step | Event> = fc.oneof(
  kind(10, 'reserve', { epoch, asks: some(wish, 6) }),
  kind(7, 'release', { epoch, releases: some(givenBack, 4) }),
  kind(4, 'change', { epoch, no: mostly(1, 0, -1, 2, -64, -63), delta: between(-5, 5) }),
  kind(2, 'set', { epoch, state, opens: between(-300, 100), lasts: between(1, 900) }),
  kind(1, 'fence', { epoch }),
  kind(2, 'load', { epoch, picks: some(upTo(40), 6), flaw: mostly(0, 1, 2, 3) }),
  kind(2, 'activate', { epoch, left: upTo(8), changeNo: upTo(3), flaw: mostly(0, 1, -1) }),
  kind(1, 'find', { buyer }),
  kind(4, 'rebuild', { pages: between(1, 3) }),
  kind(1, 'changes', { count: upTo(70), delta: between(-1, 1) }),
  kind(2, 'clock', { ms: between(-200, 250) }),
  kind(1, 'drop', {}),
)
const mishap = mostly<GateMishap | undefined>(undefined, 'stale', 'busy', 'unknown', 'unknown_done')
const life: fc.Arbitrary<Planned[]> = fc.array(fc.record({ step, mishap }), { maxLength: STEPS_MAX, size: 'max' })

/** One life: the two gates, the clock between them, and every attempt that ever was, so that old ones can come back. */
class Life {
  readonly model = new ReferenceGate()
  readonly past: Holding[] = []
  readonly told = new Map<string, number>()
  readonly #clock = { nowMs: 10_000, now: () => this.#clock.nowMs, elapsed: () => 0, sleep: async () => {} }
  readonly real = createMemoryGate({ clock: this.#clock })
  #mishap: GateMishap | undefined
  readonly #faulty: Gate = createFaultyGate(this.real, () => this.#mishap)
  #orders = 0
  #lastLook: Look | undefined

  async live(plan: readonly Planned[]): Promise<void> {
    this.model.nowMs = 10_000
    for (const { step, mishap } of [{ step: { verb: 'rebuild', pages: 1 }, mishap: undefined } as const, ...plan]) {
      this.#count(step.verb)
      if (step.verb === 'clock') {
        this.#clock.nowMs += step.ms
        this.model.nowMs = Math.max(this.model.nowMs, this.#clock.nowMs)
      } else if (step.verb === 'drop') {
        this.real.drop(ITEM)
        this.model.drop()
      } else if (step.verb === 'rebuild') {
        await this.#rebuild(step.pages)
      } else if (step.verb === 'changes') {
        for (let i = 0; i < step.count; i++)
          await this.#step({ verb: 'change', epoch: 0, no: 1, delta: step.delta }, undefined)
      } else {
        await this.#step(step, step.verb !== 'reserve' && mishap === 'busy' ? undefined : mishap)
      }
      await this.#check()
    }
  }

  async #rebuild(pages: number): Promise<void> {
    const now = this.model.active
    const attempts = now?.attempts ?? []
    const epoch = this.model.seen + 1
    const terms = this.#terms(now?.left ?? 6, attempts, now === undefined ? 0 : now.terms.changeNo + now.taken.length)
    await this.#both(
      undefined,
      gate => gate.fence(ITEM, epoch),
      model => model.fence(epoch),
    )
    const size = Math.max(1, Math.ceil(attempts.length / pages))
    for (let i = 0; i < attempts.length; i += size) {
      const page = attempts.slice(Math.max(0, i - 1), i + size)
      await this.#both(
        undefined,
        gate => gate.load(ITEM, epoch, page),
        model => model.load(epoch, page),
      )
    }
    await this.#both(
      undefined,
      gate => gate.activate(ITEM, epoch, terms),
      model => model.activate(epoch, terms),
    )
  }

  #terms(left: number, attempts: readonly Holding[], changeNo: number): Terms {
    const now = this.model.nowMs
    const [held, buyers] = [heldOf(attempts), buyersOf(attempts)]
    return {
      left,
      held,
      buyers,
      attemptsMax: 3,
      changeNo,
      state: 'open',
      opensAtMs: now - 100,
      closesAtMs: now + 1_000,
    }
  }

  async #step(step: Step, mishap: GateMishap | undefined): Promise<void> {
    const { model } = this
    const selling = Math.max(1, (model.active?.epoch ?? model.seen) + ('epoch' in step ? step.epoch : 0))
    const keeper = Math.max(1, model.seen + ('epoch' in step ? step.epoch : 0))
    switch (step.verb) {
      case 'reserve': {
        const asks: Ask[] = step.asks.map(({ reuse, ...wish }) => ({
          ...wish,
          order: this.#order(reuse),
          askedAtMs: 1,
        }))
        return this.#both(
          mishap,
          gate => gate.reserve(ITEM, selling, asks),
          () => model.reserve(selling, asks),
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
          gate => gate.release(ITEM, selling, releases),
          () => model.release(selling, releases),
        )
      }
      case 'change': {
        const now = model.active
        const no = Math.max(1, step.no + (now === undefined ? 0 : now.terms.changeNo + now.taken.length))
        const call = (gate: Gate) => gate.change(ITEM, selling, no, step.delta)
        return this.#both(mishap, call, () => model.change(selling, no, step.delta))
      }
      case 'set': {
        const opens = model.nowMs + step.opens
        const call = (gate: Gate) => gate.set(ITEM, selling, step.state, opens, opens + step.lasts)
        return this.#both(mishap, call, () => model.set(selling, step.state, opens, opens + step.lasts))
      }
      case 'fence':
        return this.#both(
          mishap,
          gate => gate.fence(ITEM, keeper),
          () => model.fence(keeper),
        )
      case 'load': {
        const page = step.picks.map(pick => this.#pick(pick))
        const [first] = page
        if (first !== undefined && step.flaw === 1) page.push({ ...first, quantity: first.quantity + 1 })
        if (first !== undefined && step.flaw === 2) page.push({ ...first, attempt: first.attempt + 1 })
        if (first !== undefined && step.flaw === 3)
          page.push({ ...first, attempt: first.attempt + 1, order: this.#order(-1) })
        return this.#both(
          mishap,
          gate => gate.load(ITEM, keeper, page),
          () => model.load(keeper, page),
        )
      }
      case 'activate': {
        const right = this.#terms(step.left, model.loading?.attempts ?? [], step.changeNo)
        const terms = { ...right, held: Math.max(0, right.held + step.flaw) }
        return this.#both(
          mishap,
          gate => gate.activate(ITEM, keeper, terms),
          () => model.activate(keeper, terms),
        )
      }
      case 'find': {
        const holdings = () =>
          model.active!.attempts.filter(one => one.buyer === step.buyer).sort((a, b) => a.attempt - b.attempt)
        const found = () =>
          model.selling() === undefined ? { status: 'stale' } : { status: 'ok', holdings: holdings() }
        return this.#both(mishap, gate => gate.find(ITEM, step.buyer), found)
      }
    }
  }

  /** Both are told; both must say the same, or both call it a bug. A lost call never reaches the model, a lost answer does. */
  async #both(
    mishap: GateMishap | undefined,
    call: (gate: Gate) => Promise<object>,
    expected: (model: ReferenceGate) => object,
  ): Promise<void> {
    this.#mishap = mishap
    const said = await bugOr(async () => withoutVersion(await call(this.#faulty)))
    const reached = mishap === undefined || mishap === 'unknown_done'
    const right = reached ? await bugOr(async () => expected(this.model)) : undefined
    const status = typeof said === 'string' ? said : (said as { status: string }).status
    this.#count(status)
    if (typeof said === 'object' && 'answers' in said)
      for (const { code } of said.answers as { code: string }[]) this.#count(code)
    if (mishap === undefined || right === 'bug') deepStrictEqual(said, right)
    else deepStrictEqual(status, mishap === 'unknown_done' ? 'unknown' : mishap)
  }

  async #check(): Promise<void> {
    const now = this.model.selling()
    const { nowMs, items } = await this.real.look([ITEM])
    deepStrictEqual(nowMs, this.model.nowMs)
    const [look] = items
    deepStrictEqual(this.real.lookNow(ITEM), look)
    for (const buyer of BUYERS)
      deepStrictEqual(
        this.real.knows(ITEM, buyer),
        this.model.active?.attempts.some(one => one.buyer === buyer) ?? false,
      )
    deepStrictEqual(look?.epoch, now?.epoch)
    if (now === undefined || look === undefined) return

    const { left, state, opensAtMs, closesAtMs, attempts, terms, taken, gone } = now
    const { version, ...shown } = look
    const counts = { held: heldOf(attempts), buyers: buyersOf(attempts), changeNo: terms.changeNo + taken.length }
    deepStrictEqual(shown, { item: ITEM, epoch: now.epoch, left, state, opensAtMs, closesAtMs, ...counts })
    this.#checkVersion(look, version)

    const found: Holding[] = []
    for (const buyer of BUYERS) {
      const reply = await this.real.find(ITEM, buyer)
      const holdings = reply.status === 'ok' ? reply.holdings : []
      deepStrictEqual(holdings.filter(one => one.live).length <= 1, true, `${buyer} has two live reservations`)
      found.push(...holdings)
    }
    deepStrictEqual(new Set(found.map(one => one.order)).size, found.length, 'one id stands for two reservations')
    deepStrictEqual(heldOf(found), look.held)
    deepStrictEqual(look.left >= 0, true, 'less than nothing is left')
    const unitsIn = terms.left + terms.held + taken.reduce((sum, one) => sum + one, 0) - gone
    deepStrictEqual(look.left + heldOf(found), unitsIn, 'units appeared or disappeared')
    for (const one of attempts) if (!this.past.some(old => old.order === one.order)) this.past.push(one)
  }

  #checkVersion(look: Look, version: number): void {
    const last = this.#lastLook
    if (last?.epoch === look.epoch) {
      const changed = JSON.stringify({ ...look, version: 0 }) !== JSON.stringify({ ...last, version: 0 })
      if (changed) deepStrictEqual(version > last.version, true, 'something changed under the same version')
    }
    this.#lastLook = look
  }

  #order(reuse: number): string {
    const old = reuse < 0 ? undefined : this.past.at(-1 - reuse)
    return old?.order ?? String(9_007_199_254_740_993n + BigInt(++this.#orders))
  }

  /** An attempt that is or was, rather a recent one; or one that never was. */
  #pick(pick: number): Holding {
    const never = { order: '999', buyer: 'a', attempt: 1, quantity: 1, live: true, reservedAtMs: 1 }
    const now = this.model.active?.attempts ?? []
    return (pick % 3 === 0 ? this.past.at(-1 - pick / 3) : now.at(-1 - (pick % Math.max(1, now.length)))) ?? never
  }

  #count(what: string): void {
    this.told.set(what, (this.told.get(what) ?? 0) + 1)
  }
}

async function bugOr(call: () => Promise<object>): Promise<object | 'bug'> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof Bug) return 'bug'
    throw error
  }
}

function withoutVersion(reply: object): object {
  if (!('version' in reply)) return reply
  const { version: _, ...rest } = reply
  return rest
}

test('the memory gate answers as the reference gate does, whatever happens in whatever order, and every unit is accounted for', async () => {
  const seed = Number(process.env.SEED ?? Math.floor(systemRandom.next() * 2 ** 31))
  console.log(`gate model: SEED=${seed}`)
  const told = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(life, async plan => {
      const one = new Life()
      await one.live(plan)
      for (const [what, count] of one.told) told.set(what, (told.get(what) ?? 0) + count)
    }),
    { seed, numRuns: LIVES },
  )
  // A walk that never meets one of these proves nothing about it.
  const must = [
    'reserved',
    'same',
    'same_closed',
    'not_enough',
    'attempts_used',
    'foreign',
    'not_now',
    'ok',
    'early',
    'paused',
    'over',
  ]
  must.push('stale', 'busy', 'unknown', 'done', 'gap', 'past', 'bug')
  console.log(must.map(what => `${what} ${told.get(what) ?? 0}`).join(', '))
  for (const what of must) expect([what, (told.get(what) ?? 0) >= LIVES / 100]).toEqual([what, true])
}, 60_000)
