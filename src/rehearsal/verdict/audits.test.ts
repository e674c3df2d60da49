import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import type { AuditAnswer } from '../../wire/answers.ts'
import type { Operator } from '../operator/operator.ts'
import { Audits } from './audits.ts'

const AT_REST: AuditAnswer = {
  item: '7',
  units: 2,
  available: 0,
  pending: 1,
  paid: 1,
  closed: 0,
  gate: { left: 0, held: 2 },
  outbox: 0,
  releases: 0,
  moving: 0,
  door: 'gate',
  epoch: 1,
  consistent: true,
  violations: [],
}

/** Audits out of this list, the last one for ever; time goes on by what is slept. */
async function wait(audits: readonly Partial<AuditAnswer>[], msMax: number, stopAtMs = Number.POSITIVE_INFINITY) {
  let [atMs, audited] = [0, 0]
  const stopping = new AbortController()
  const clock: Clock = {
    now: () => atMs,
    elapsed: () => atMs,
    async sleep(ms) {
      atMs += ms
      if (atMs >= stopAtMs) stopping.abort()
    },
  }
  const next = () => ({ ...AT_REST, ...audits[Math.min(audited++, audits.length - 1)] })
  const operator = { audit: async () => next() } as unknown as Operator
  const heard: string[] = []
  const returns = new Audits('1', clock)
  const watch = (waitsFor: string) => heard.push(waitsFor)
  const audit = await returns.untilQuiet(operator, msMax, watch, stopping.signal)
  return { audit, heard, atMs, returns }
}

test('waits for outbox, releases, a rebuild and an audit that agrees, and says what for', async () => {
  const moving = [{ outbox: 3, releases: 2 }, { door: 'draining' as const }, { consistent: false }, {}]
  const { audit, heard } = await wait(moving, 10_000)
  expect(audit).toEqual(AT_REST)
  expect(heard).toEqual([
    '3 reserved and not placed yet, 2 units not back on sale yet',
    'the gate is being rebuilt',
    'stock of gate and ledger does not agree yet',
  ])
})

test('books at rest are not waited for', async () => {
  expect(await wait([{}], 10_000)).toMatchObject({ heard: [], atMs: 0 })
})

test('what never comes to rest is waited for up to the bound, and shown as it is', async () => {
  const { audit, atMs } = await wait([{ outbox: 1 }], 1_000)
  expect(audit.outbox).toBe(1)
  expect(atMs).toBe(1_000)
  expect((await wait([{ outbox: 1 }], 0)).atMs).toBe(0)
})

test('who is stopped waits no longer, and has the books as they were', async () => {
  const { audit, atMs } = await wait([{ outbox: 1 }], 10_000, 300)
  expect({ outbox: audit.outbox, atMs }).toEqual({ outbox: 1, atMs: 300 })
})

test('units on their way back are timed', async () => {
  const slow = Array.from({ length: 90 }, () => ({ releases: 1 }))
  expect((await wait([...slow, {}], 20_000)).returns.longestMs).toBe(8_900)
  expect((await wait([{ outbox: 1 }, { releases: 1 }, {}], 20_000)).returns.longestMs).toBe(0)
})
