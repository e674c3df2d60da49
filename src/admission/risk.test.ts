import { expect, test } from 'bun:test'
import type { Clock } from '../base/clock.ts'
import { type Counted, type CountFamily, noMeters } from '../base/meters.ts'
import { Risk, type RiskVerdict } from './risk.ts'

type Post = ConstructorParameters<typeof Risk>[0]['post']

const subject = (buyer: string) => ({
  sale: '1',
  item: '2',
  buyer,
  attempt: 1,
  address: '203.0.113.9',
  claims: { phone: 'hash' },
})
const answered = (answer: unknown) => ({
  kind: 'delivered',
  problem: undefined,
  detail: undefined,
  answer: typeof answer === 'string' ? answer : JSON.stringify(answer),
})
const ALLOW = answered({ decision: 'allow' })
const DENY = answered({ decision: 'deny' })
const hangs: Post = () => new Promise(() => {})

/** Time stands still until the test moves it. */
function rig(post: Post, more: { onFailure?: 'allow' | 'deny'; concurrency?: number; cacheMs?: number } = {}) {
  const sleepers = new Set<{ readonly untilMs: number; readonly wake: () => void }>()
  const clock: Clock & { ms: number } = {
    ms: 0,
    now: () => clock.ms,
    elapsed: () => clock.ms,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>(resolve => {
        const sleeper = { untilMs: clock.ms + ms, wake: () => sleepers.delete(sleeper) && resolve() }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', sleeper.wake, { once: true })
      }),
  }
  const counts: Record<string, number> = {}
  const meters = {
    ...noMeters,
    count<F extends CountFamily>(_: F, which: Counted[F][number]) {
      counts[which] = (counts[which] ?? 0) + 1
    },
  }
  const asked: string[] = []
  const risk = new Risk({
    post: (body, signal) => {
      asked.push(body)
      return post(body, signal)
    },
    timeoutMs: 500,
    cacheMs: 60_000,
    concurrency: 4,
    onFailure: 'allow',
    clock,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    meters,
    ...more,
  })
  return {
    risk,
    asked,
    counts,
    go(ms: number) {
      clock.ms += ms
      for (const sleeper of [...sleepers]) if (sleeper.untilMs <= clock.ms) sleeper.wake()
    },
    isWaiting: () => sleepers.size,
  }
}

test('asks once for a buyer and item, keeps the answer for its time, and asks about each buyer', async () => {
  const world = rig(async body => (body.includes('"bad"') ? DENY : ALLOW))
  const twice = await Promise.all([world.risk.ask(subject('ann')), world.risk.ask(subject('ann'))])
  expect(twice).toEqual([{ kind: 'allow' }, { kind: 'allow' }])
  expect(await world.risk.ask(subject('bad'))).toEqual({ kind: 'deny' })
  expect(world.asked).toHaveLength(2)
  expect(JSON.parse(world.asked[0]!)).toEqual(subject('ann'))
  world.go(59_999)
  expect(await world.risk.ask(subject('bad'))).toEqual({ kind: 'deny' })
  world.go(1)
  expect(await world.risk.ask(subject('bad'))).toEqual({ kind: 'deny' })
  expect(world.asked).toHaveLength(3)
  expect(world.counts).toEqual({ allow: 1, deny: 2, cached: 1 })
})

test('an answer that is none of the known ones is a failure, whatever it says', async () => {
  const lies = [
    'yes',
    '',
    '{"decision":"allow"',
    '[]',
    'null',
    '"allow"',
    { decision: 'ALLOW' },
    { decision: ['allow'] },
    { decision: 'challenge' },
    { decision: 'challenge', difficulty: 0 },
    { decision: 'challenge', difficulty: 1e9 },
    { decision: 'challenge', difficulty: '8' },
    { __proto__: { decision: 'allow' } },
  ]
  for (const lie of lies) {
    const world = rig(async () => answered(lie), { onFailure: 'deny' })
    expect(await world.risk.ask(subject('ann')), JSON.stringify(lie)).toEqual({ kind: 'unknown' })
    expect(world.counts).toEqual({ unreadable: 1 })
  }
  const more = rig(async () => answered({ decision: 'challenge', difficulty: 8, score: 0.7 }))
  expect(await more.risk.ask(subject('ann'))).toEqual({ kind: 'challenge', difficulty: 8 })
})

test('a hook that hangs costs a buyer the time limit, then none until its rest is over, then one', async () => {
  const world = rig(hangs, { concurrency: 64 })
  for (let n = 0; n < 5; n++) {
    const asking = world.risk.ask(subject(`buyer ${n}`))
    await Promise.resolve()
    world.go(500)
    expect(await asking).toEqual({ kind: 'allow' })
  }
  expect([world.asked.length, world.risk.isResting]).toEqual([5, true])
  for (let n = 0; n < 100; n++) expect(await world.risk.ask(subject(`later ${n}`))).toEqual({ kind: 'allow' })
  expect([world.asked.length, world.isWaiting()]).toEqual([5, 0])
  world.go(5_000)
  const tried = world.risk.ask(subject('first'))
  expect(await world.risk.ask(subject('beside'))).toEqual({ kind: 'allow' })
  world.go(500)
  expect(await tried).toEqual({ kind: 'allow' })
  expect(world.asked).toHaveLength(6)
  expect(world.counts).toEqual({ timeout: 6, resting: 101 })
})

test('a failure is not remembered of its buyer; the first answer after a rest ends it', async () => {
  let works = false
  const failed = { kind: 'failed', problem: 'answer', detail: undefined, answer: 'oops' }
  const world = rig(async () => (works ? DENY : failed), { onFailure: 'deny' })
  for (let n = 0; n < 5; n++) expect(await world.risk.ask(subject('ann'))).toEqual({ kind: 'unknown' })
  expect(await world.risk.ask(subject('ann'))).toEqual({ kind: 'unknown' })
  works = true
  world.go(5_000)
  expect(await world.risk.ask(subject('ann'))).toEqual({ kind: 'deny' })
  expect([world.risk.isResting, await world.risk.ask(subject('ben'))]).toEqual([false, { kind: 'deny' }])
  expect(world.counts).toEqual({ failed: 5, resting: 1, deny: 2 })
})

test('slow for all at once: so many are asked, the others wait within the same limit, and a late answer changes nothing', async () => {
  const answers: ((posted: typeof DENY) => void)[] = []
  const signals: AbortSignal[] = []
  const world = rig((_, signal) => {
    signals.push(signal)
    return new Promise(resolve => void answers.push(resolve))
  })
  const verdicts: RiskVerdict[] = []
  const crowd = Array.from({ length: 10 }, (_, n) =>
    world.risk.ask(subject(`buyer ${n}`)).then(verdict => void verdicts.push(verdict)),
  )
  await Promise.resolve()
  expect(answers).toHaveLength(4)
  world.go(400)
  for (const resolve of answers.splice(0)) resolve(ALLOW)
  for (let n = 0; n < 20; n++) await Promise.resolve()
  expect([answers.length, verdicts.length]).toEqual([4, 4])
  world.go(100)
  await Promise.all(crowd)
  expect(world.counts).toEqual({ allow: 4, timeout: 4, crowded: 2 })
  expect(verdicts).toHaveLength(10)
  expect(signals.every(signal => signal.aborted)).toBe(true)
  for (const resolve of answers.splice(0)) resolve(DENY)
  for (let n = 0; n < 20; n++) await Promise.resolve()
  expect(answers).toHaveLength(0)
  void world.risk.ask(subject('buyer 5'))
  expect(world.asked).toHaveLength(9)
})
