import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { checkPromises } from '../../domain/promises/check.ts'
import type { AuditAnswer } from '../../wire/answers.ts'
import type { Operator, PlacedOrder } from '../operator/operator.ts'
import { Audits } from './audits.ts'
import { gatherFacts } from './facts.ts'

const AUDIT: AuditAnswer = {
  item: '7',
  units: 1,
  available: 0,
  pending: 0,
  paid: 1,
  closed: 0,
  gate: { left: 0, held: 1 },
  outbox: 0,
  releases: 0,
  moving: 0,
  door: 'gate',
  epoch: 1,
  consistent: true,
  violations: [],
}
const ORDER: PlacedOrder = {
  id: '1',
  sale: '5',
  item: '7',
  buyer: 'b',
  attempt: 1,
  quantity: 1,
  amount: { amount: 100, currency: 'CNY' },
  state: 'paid',
  reservedAt: '2026-11-15T10:00:00.000Z',
  placedAt: '2026-11-15T10:00:00.000Z',
  paidAt: '2026-11-15T10:00:01.000Z',
}

/** Another unit, which came back and is not on sale yet. */
const ONE_BACK = { units: 2, available: 1, releases: 1, gate: { left: 0, held: 2 } }

interface Story {
  readonly audit?: Partial<AuditAnswer>
  /** What the last audit shows, after the orders were read. */
  readonly last?: Partial<AuditAnswer>
  /** How long a unit was seen on its way back. */
  readonly backMs?: number
  readonly partKilled?: boolean
  readonly atRest?: boolean
  /** Stopped while the payments are read. */
  readonly stopped?: boolean
}

async function gather({ audit, last, backMs = 0, partKilled = false, atRest = true, stopped = false }: Story) {
  let atMs = 0
  const clock: Clock = {
    now: () => atMs,
    elapsed: () => atMs,
    async sleep(ms) {
      atMs += ms
    },
  }
  const stopping = new AbortController()
  let ordersRead = false
  const operator = {
    audit: async () => ({ ...AUDIT, ...audit, ...(ordersRead && last) }),
    async orders() {
      ordersRead = true
      return [ORDER]
    },
    async payments(ids: readonly string[], enough?: AbortSignal) {
      if (stopped) stopping.abort()
      const read = enough?.aborted ? [] : ids
      return read.map(order => ({ order, amount: ORDER.amount, state: 'captured' }))
    },
  } as unknown as Operator
  const audits = new Audits('1', clock)
  audits.observe({ releases: 1, door: 'gate' }, 0, 0)
  audits.observe({ releases: 1, door: 'gate' }, backMs, backMs)
  const run = { operator, audits, sale: '1', firstEpoch: 1, told: [], atRest, msMax: 10_000, watch: () => {} }
  const facts = await gatherFacts({ ...run, stop: stopping.signal, partKilled })
  const broken = [...new Set(checkPromises(facts.snapshot).map(({ promise }) => promise))]
  return { broken, notJudged: [...facts.notJudged.keys()] }
}

test('with all the facts every promise is judged', async () => {
  expect(await gather({})).toEqual({ broken: [], notJudged: [] })
  expect(await gather({ backMs: 1_900 })).toEqual({ broken: [], notJudged: [] })
})

test('a gate that was rebuilt leaves open who came first', async () => {
  expect(await gather({ audit: { epoch: 2 } })).toEqual({ broken: [], notJudged: [5] })
})

test('a unit that needs longer than promised is not called kept, and far longer breaks the promise', async () => {
  expect(await gather({ backMs: 9_000 })).toEqual({ broken: [], notJudged: [3] })
  expect(await gather({ backMs: 11_000 })).toEqual({ broken: [3], notJudged: [] })
})

test('what waits for a part that was killed on purpose is not held against anybody, unless it never comes', async () => {
  expect(await gather({ backMs: 60_000, partKilled: true })).toEqual({ broken: [], notJudged: [3] })
  expect(await gather({ backMs: 60_000, partKilled: true, audit: ONE_BACK })).toEqual({ broken: [3], notJudged: [] })
})

test('a unit that has just come back is not held to what another one waited for', async () => {
  expect(await gather({ backMs: 60_000, partKilled: true, last: ONE_BACK })).toEqual({ broken: [], notJudged: [3] })
  expect(await gather({ backMs: 9_000, last: ONE_BACK })).toEqual({ broken: [], notJudged: [3] })
  expect(await gather({ last: ONE_BACK })).toEqual({ broken: [], notJudged: [] })
})

test('stopped in the middle of the payments: nobody is accused for those that were not read', async () => {
  expect(await gather({ stopped: true })).toEqual({ broken: [], notJudged: [3, 6] })
})

test('who ended early does not say that all units are on sale again', async () => {
  expect(await gather({ atRest: false, audit: { available: 1 } })).toEqual({ broken: [], notJudged: [3] })
})
