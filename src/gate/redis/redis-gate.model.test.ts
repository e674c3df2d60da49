import { afterAll, expect, test } from 'bun:test'
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { Bug } from '../../base/assert.ts'
import { systemRandom } from '../../base/random.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import type { Ask, Gate, GateState, Holding, Terms } from '../gate.ts'
import { buyersOf, heldOf, ReferenceGate } from '../reference-gate.ts'
import { HOUR_MS } from './redis-gate.fixture.ts'
import { createRedisGate } from './redis-gate.ts'
import { createRedisOutbox } from './redis-outbox.ts'

/**
 * Random lives of one item, told to the Redis gate and to the reference gate at once. The server's clock can't be stood still, so times
 * are compared by the hour: windows begin and end hours apart, the gate's clock is moved by hours, and a reservation's exact millisecond
 * is taken from what the gate itself said. Also: the outbox holds exactly what was reserved, in order.
 */

const LIVES = 250
const STEPS_MAX = 40
const BUYERS = ['a', 'b', 'c:1', '🐎']

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
  | { verb: 'rebuild' }
  | { verb: 'clock' }

const upTo = (max: number) => fc.integer({ min: 0, max })
const between = (min: number, max: number) => fc.integer({ min, max })
const mostly = <T>(usual: T, ...rare: T[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 3, arbitrary: fc.constantFrom(...rare) })
const epoch = mostly(0, -1, 1, 2)
const wish = fc.record({
  buyer: fc.constantFrom(...BUYERS),
  attempt: mostly(1, 2, 2, 3, 4),
  quantity: mostly(1, 2, 3, 9),
  reuse: mostly(-1, 0, 1, 2),
})
const givenBack = fc.record({
  pick: upTo(20),
  outcome: fc.constantFrom('closed' as const, 'refused' as const, 'gone' as const),
  wrong: mostly(0, 1, 2, 3),
})
const of = <T extends Step>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary })
const verb = <V extends string>(name: V) => fc.constant(name)
const step: fc.Arbitrary<Step> = fc.oneof(
  of(10, fc.record({ verb: verb('reserve'), epoch, asks: fc.array(wish, { maxLength: 6 }) })),
  of(7, fc.record({ verb: verb('release'), epoch, releases: fc.array(givenBack, { maxLength: 4 }) })),
  of(4, fc.record({ verb: verb('change'), epoch, no: mostly(1, 0, -1, 2), delta: between(-5, 5) })),
  of(
    2,
    fc.record({
      verb: verb('set'),
      epoch,
      state: mostly<GateState>('open', 'paused', 'over'),
      opens: between(-3, 1),
      lasts: between(1, 9),
    }),
  ),
  of(1, fc.record({ verb: verb('fence'), epoch })),
  of(
    2,
    fc.record({ verb: verb('load'), epoch, picks: fc.array(upTo(20), { maxLength: 6 }), flaw: mostly(0, 1, 2, 3) }),
  ),
  of(2, fc.record({ verb: verb('activate'), epoch, left: upTo(8), changeNo: upTo(3), flaw: mostly(0, 1, -1) })),
  of(4, fc.record({ verb: verb('rebuild') })),
  of(1, fc.record({ verb: verb('clock') })),
)

const playground = new Playground()
afterAll(() => playground.undo())

class Life {
  readonly model = new ReferenceGate()
  readonly past: Holding[] = []
  readonly told = new Map<string, number>()
  readonly queued = new Map<number, string[]>()
  readonly #item: string
  readonly #gate: Gate
  readonly #move: () => void
  #orders = 0

  constructor(item: string, gate: Gate, move: () => void) {
    this.#item = item
    this.#gate = gate
    this.#move = move
    this.model.nowMs = 1_000 * HOUR_MS
  }

  async live(plan: readonly Step[], startMs: number): Promise<void> {
    // Half an hour from every edge of every window: a test takes less.
    const toReal = (modelMs: number) => startMs - HOUR_MS / 2 + (modelMs - 1_000 * HOUR_MS)
    for (const one of [{ verb: 'rebuild' } as const, ...plan]) {
      await this.#step(one, toReal)
      await this.#check(toReal)
    }
  }

  async #step(step: Step, toReal: (ms: number) => number): Promise<void> {
    const { model } = this
    const item = this.#item
    const selling = Math.max(1, (model.active?.epoch ?? model.seen) + ('epoch' in step ? step.epoch : 0))
    const keeper = Math.max(1, model.seen + ('epoch' in step ? step.epoch : 0))
    const activate = (epoch: number, terms: Terms) =>
      this.#both(
        gate =>
          gate.activate(item, epoch, {
            ...terms,
            opensAtMs: toReal(terms.opensAtMs),
            closesAtMs: toReal(terms.closesAtMs),
          }),
        () => model.activate(epoch, terms),
      )
    switch (step.verb) {
      case 'clock':
        this.#move()
        model.nowMs += HOUR_MS
        return
      case 'rebuild': {
        const now = model.active
        const epoch = model.seen + 1
        const attempts = now?.attempts ?? []
        const terms = this.#terms(
          now?.left ?? 6,
          attempts,
          now === undefined ? 0 : now.terms.changeNo + now.taken.length,
        )
        await this.#both(
          gate => gate.fence(item, epoch),
          () => model.fence(epoch),
        )
        for (const page of [attempts.slice(0, 2), attempts.slice(1)])
          await this.#both(
            gate => gate.load(item, epoch, page),
            () => model.load(epoch, page),
          )
        return activate(epoch, terms)
      }
      case 'reserve': {
        const asks: Ask[] = step.asks.map(({ reuse, ...rest }) => ({
          ...rest,
          order: this.#order(reuse),
          askedAtMs: 1,
        }))
        return this.#both(
          gate => gate.reserve(item, selling, asks),
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
          gate => gate.release(item, selling, releases),
          () => model.release(selling, releases),
        )
      }
      case 'change': {
        const now = model.active
        const no = Math.max(1, step.no + (now === undefined ? 0 : now.terms.changeNo + now.taken.length))
        return this.#both(
          gate => gate.change(item, selling, no, step.delta),
          () => model.change(selling, no, step.delta),
        )
      }
      case 'set': {
        const opens = model.nowMs + step.opens * HOUR_MS
        const closes = opens + step.lasts * HOUR_MS
        return this.#both(
          gate => gate.set(item, selling, step.state, toReal(opens), toReal(closes)),
          () => model.set(selling, step.state, opens, closes),
        )
      }
      case 'fence':
        return this.#both(
          gate => gate.fence(item, keeper),
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
          gate => gate.load(item, keeper, page),
          () => model.load(keeper, page),
        )
      }
      case 'activate': {
        const right = this.#terms(step.left, model.loading?.attempts ?? [], step.changeNo)
        return activate(keeper, { ...right, held: Math.max(0, right.held + step.flaw) })
      }
    }
  }

  #terms(left: number, attempts: readonly Holding[], changeNo: number): Terms {
    const now = this.model.nowMs
    const [held, buyers] = [heldOf(attempts), buyersOf(attempts)]
    const window = { opensAtMs: now - HOUR_MS, closesAtMs: now + 10 * HOUR_MS }
    return { left, held, buyers, attemptsMax: 3, changeNo, state: 'open', ...window }
  }

  /** Both are told; both must say the same, or both call it a bug. */
  async #both(call: (gate: Gate) => Promise<object>, expected: () => object): Promise<void> {
    const said = await bugOr(() => call(this.#gate))
    const right = await bugOr(async () => expected())
    this.#count(typeof said === 'string' ? said : (said as { status: string }).status)
    if (typeof said === 'object' && 'answers' in said && typeof right === 'object' && 'answers' in right)
      this.#adopt(said as never, right as never)
    deepStrictEqual(withoutVersion(said), withoutVersion(right))
  }

  /** The model takes over the moment the gate gave a reservation. */
  #adopt(
    said: { epoch: number; answers: { code: string; order: string; reservedAtMs: number }[] },
    right: { answers: { reservedAtMs: number }[] },
  ): void {
    for (const [i, { code, order, reservedAtMs }] of said.answers.entries()) {
      this.#count(code)
      if (code === 'reserved') {
        const attempts = this.model.active!.attempts
        const at = attempts.findIndex(one => one.order === order)
        if (at !== -1) attempts[at] = { ...attempts[at]!, reservedAtMs }
        this.queued.set(said.epoch, [...(this.queued.get(said.epoch) ?? []), order])
      }
      if (code !== 'reserved' && code !== 'same') continue
      // A double click within the batch was answered by the model before it took the moment over.
      const stands = this.model.active!.attempts.find(one => one.order === order)
      right.answers[i]!.reservedAtMs = stands?.reservedAtMs ?? 0
    }
  }

  async #check(toReal: (ms: number) => number): Promise<void> {
    const now = this.model.selling()
    const { items } = await this.#gate.look([this.#item])
    deepStrictEqual(items[0]?.epoch, now?.epoch)
    if (now === undefined) return
    const { left, state, attempts, terms, taken, gone } = now
    const { version: _, ...shown } = items[0]!
    deepStrictEqual(shown, {
      item: this.#item,
      epoch: now.epoch,
      left,
      held: heldOf(attempts),
      buyers: buyersOf(attempts),
      state,
      opensAtMs: toReal(now.opensAtMs),
      closesAtMs: toReal(now.closesAtMs),
      changeNo: terms.changeNo + taken.length,
    })
    const found = await Promise.all(BUYERS.map(buyer => this.#gate.find(this.#item, buyer)))
    const holdings = found.flatMap(reply => (reply.status === 'ok' ? reply.holdings : []))
    const sorted = (list: readonly Holding[]) => list.toSorted((a, b) => (a.order < b.order ? -1 : 1))
    deepStrictEqual(sorted(holdings), sorted(attempts.filter(one => BUYERS.includes(one.buyer))))
    const unitsIn = terms.left + terms.held + taken.reduce((sum, one) => sum + one, 0) - gone
    deepStrictEqual(left + heldOf(attempts), unitsIn, 'units appeared or disappeared')
    for (const one of attempts) if (!this.past.some(old => old.order === one.order)) this.past.push(one)
  }

  #order(reuse: number): string {
    const old = reuse < 0 ? undefined : this.past.at(-1 - reuse)
    return old?.order ?? String(9_007_199_254_740_993n + BigInt(++this.#orders))
  }

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

function withoutVersion(reply: object | 'bug'): object | 'bug' {
  if (typeof reply === 'string' || !('version' in reply)) return reply
  const { version: _, ...rest } = reply
  return rest
}

test('the Redis gate answers as the reference gate does, whatever happens in whatever order; the outbox has what was reserved', async () => {
  const seed = Number(process.env.SEED ?? Math.floor(systemRandom.next() * 2 ** 31))
  console.log(`redis gate model: SEED=${seed}`)
  const { url } = await startRedis(playground, { config: ['appendonly no'] })
  const connection = await connect(playground, url)
  const outbox = createRedisOutbox({ connection })
  const told = new Map<string, number>()
  let lives = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: STEPS_MAX, size: 'max' }), async plan => {
      lives += 1
      const item = String(lives)
      let offsetMs = 0
      const gate = createRedisGate({ connection, clockOffsetMs: () => offsetMs })
      const one = new Life(item, gate, () => {
        offsetMs += HOUR_MS
      })
      const { nowMs } = await createRedisGate({ connection }).look([])
      await one.live(plan, nowMs)
      for (const [what, count] of one.told) told.set(what, (told.get(what) ?? 0) + count)

      const waiting = new Map<number, string[]>()
      for (;;) {
        const taken = await outbox.take(item, 'w', 7)
        if (taken.status !== 'ok' || taken.entries.length === 0) break
        for (const { epoch, asks } of taken.entries)
          waiting.set(epoch, [...(waiting.get(epoch) ?? []), ...asks!.map(queued => queued.order)])
        await outbox.done(
          item,
          taken.entries[0]!.epoch,
          taken.entries.map(entry => entry.id),
        )
      }
      deepStrictEqual(waiting, one.queued)
      deepStrictEqual(await outbox.forget(item), true)
    }),
    { seed, numRuns: LIVES },
  )
  expect(await connection.command(['DBSIZE'])).toBe(0)
  const must = ['reserved', 'same', 'same_closed', 'not_enough', 'attempts_used', 'foreign', 'not_now']
  must.push('ok', 'early', 'paused', 'over', 'stale', 'done', 'gap', 'past', 'bug')
  console.log(must.map(what => `${what} ${told.get(what) ?? 0}`).join(', '))
  for (const what of must) expect([what, (told.get(what) ?? 0) >= LIVES / 100]).toEqual([what, true])
}, 60_000)
