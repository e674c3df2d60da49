import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { COUNTED, noMeters } from '../../base/meters.ts'
import { systemRandom } from '../../base/random.ts'
import { createRefusalCounts } from '../../ledger/postgres/refusal-counts.ts'
import type { RefusalCounts } from '../../ledger/refusal-counts.ts'
import { REFUSAL_REASONS } from '../../wire/abuse/refusal-reasons.ts'
import { RefusalTally } from './refusal-tally.ts'

const ledger = ledgerForFile()

function openTally(more: { clock?: Clock; refusalCounts?: RefusalCounts } = {}): RefusalTally {
  return new RefusalTally({
    refusalCounts: createRefusalCounts(ledger.database),
    abuseClaims: ['phone', 'age'],
    clock: systemClock,
    random: systemRandom,
    meters: noMeters,
    ...more,
  })
}

const reason = (of: readonly number[], name: (typeof REFUSAL_REASONS)[number]) => of[REFUSAL_REASONS.indexOf(name)]
const LIMITED = '203.0.113.7'

test('the metric has the reasons that are counted', () => {
  expect(COUNTED.refusals).toEqual([...REFUSAL_REASONS])
})

test('adds up what all processes have turned away, by reason, network and claim; written twice is counted once', async () => {
  const [one, two, viewer] = [openTally(), openTally(), openTally()]
  for (let n = 0; n < 30; n++) one.count('rate_limited', `203.0.113.${n}`)
  one.count('denied', '2001:db8:1:ab12::/64', { phone: 'none', age: 3, other: 'x' })
  for (let n = 0; n < 5; n++) two.count('ticket_invalid', LIMITED)
  two.count('risk_denied', '192.0.2.1', { phone: 'none', age: { nested: true } })
  two.count('unauthenticated', 'no address at all')
  for (const tally of [one, two, one]) await tally.round()
  const seen = await viewer.all()
  expect(seen.networks.slice(0, 1)).toMatchObject([{ key: '203.0.113.0/24', total: 35, error: 0 }])
  expect(reason(seen.networks[0]!.reasons, 'rate_limited')).toBe(30)
  expect(reason(seen.networks[0]!.reasons, 'ticket_invalid')).toBe(5)
  expect(seen.networks.map(({ key }) => key).toSorted()).toEqual(['192.0.2.0/24', '2001:db8:1::/48', '203.0.113.0/24'])
  expect(seen.claims.map(({ key, total }) => [key, total])).toEqual([
    ['phone=none', 2],
    ['age=3', 1],
  ])
  expect(reason(seen.reasons, 'unauthenticated')).toBe(1)
  expect(seen.reasons.reduce((a, b) => a + b, 0)).toBe(38)
  // What this process has counted itself is not taken from the ledger once more.
  expect((await one.all()).networks[0]?.total).toBe(35)
})

test('a write without an answer is written again; nothing new is not written; what another version wrote is left out', async () => {
  const real = createRefusalCounts(ledger.database)
  let writes = 0
  let isAway = true
  const tally = openTally({
    refusalCounts: {
      ...real,
      async save(process, counts) {
        writes += 1
        if (isAway) throw new Error('away')
        await real.save(process, counts)
      },
    },
  })
  await tally.round()
  expect(writes).toBe(0)
  tally.count('denied', LIMITED)
  await expect(tally.round()).rejects.toThrow('away')
  isAway = false
  for (let n = 0; n < 3; n++) await tally.round()
  expect(writes).toBe(2)
  const before = await openTally().all()
  await real.save('another version', { sinceMs: 1, names: 'other', reasons: [9], networks: 'many' })
  expect(await openTally().all()).toEqual({ ...before, sinceMs: expect.any(Number) })
})

test('what is older than twenty minutes is gone, and memory is bounded', async () => {
  const clock = { ...systemClock, ms: 1_000_000, now: () => clock.ms }
  const quiet = { save: async () => {}, ofOthers: async () => [] }
  const tally = openTally({ clock, refusalCounts: quiet })
  const total = async () => (await tally.all()).reasons.reduce((a, b) => a + b, 0)
  for (let n = 0; n < 100_000; n++) tally.count('rate_limited', `10.${n >> 8}.${n & 255}.1`)
  expect((await tally.all()).networks).toHaveLength(100)
  clock.ms += 600_000
  tally.count('denied', LIMITED)
  expect(await total()).toBe(100_001)
  clock.ms += 600_000
  expect(await total()).toBe(1)
  clock.ms += 2_000_000
  expect(await total()).toBe(0)
})
