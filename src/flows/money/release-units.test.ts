import { beforeEach, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { type Random, seededRandom, systemRandom } from '../../base/random.ts'
import type { Gate } from '../../gate/gate.ts'
import { MemoryGate } from '../../gate/memory/memory-gate.ts'
import { releaseUnits } from './release-units.ts'

const ledger = ledgerForFile()

beforeEach(() => ledger.sql('DELETE FROM releases'))

const DONE = { status: 'done' } as const

/** Items in the order of their ids, each with so many units that are to go back. */
async function waiting(...counts: readonly number[]): Promise<readonly string[]> {
  const items: string[] = []
  for (const count of counts) {
    const { item } = await ledger.openItem()
    await ledger.sql(
      `INSERT INTO releases (order_id, item, buyer, attempt, pieces, outcome)
       SELECT $1::bigint * 1000000 + n, $1, 'buyer-' || n, 1, 1, 'closed' FROM generate_series(1, $2::int) n`,
      [item, count],
    )
    items.push(item)
  }
  return items
}

async function left(item: string): Promise<number> {
  return (await ledger.sql('SELECT 1 FROM releases WHERE item = $1', [item])).length
}

/** Every release has its step in the first round. */
const AT_ONCE: Random = { ...systemRandom, next: () => 0 }

function contextOf(release: (item: string) => Promise<typeof DONE>, random = AT_ONCE) {
  const gate: Gate = Object.assign(new MemoryGate(systemClock), { release })
  return { gate, closings: ledger.closings, onReleased() {}, random }
}

const age = (item: string, ms: number) =>
  ledger.sql("UPDATE releases SET at = clock_timestamp() - $2::int * interval '1 millisecond' WHERE item = $1", [
    item,
    ms,
  ])

test('an item whose gate is away, with more to release than a round takes, does not hold up the others', async () => {
  const [big, small] = await waiting(3_000, 3)
  let away = true
  const shop = contextOf(async item => {
    if (away && item === big) throw new Fault('gate_away', 'the gate does not answer', { retryable: true })
    return DONE
  })
  await expect(releaseUnits(shop)).rejects.toMatchObject({ code: 'gate_away' })
  expect([await left(big!), await left(small!)]).toEqual([3_000, 0])
  away = false
  let rounds = 1
  while (await releaseUnits(shop)) rounds += 1
  expect(await left(big!)).toBe(0)
  expect(rounds).toBeLessThanOrEqual(20)
})

test('nor does one whose gate is silent', async () => {
  const [silent, other] = await waiting(1, 1)
  const answer = Promise.withResolvers<typeof DONE>()
  const told = Promise.withResolvers<void>()
  const round = releaseUnits(
    contextOf(async item => {
      if (item === silent) return answer.promise
      if (item === other) told.resolve()
      return DONE
    }),
  )
  await told.promise
  answer.resolve(DONE)
  expect(await round).toBe(false)
  expect([await left(silent!), await left(other!)]).toEqual([0, 0])
})

test('many items with much to release share a round', async () => {
  const items = await waiting(...Array.from({ length: 30 }, () => 400), 5)
  const asked = new Set<string>()
  const shop = contextOf(async item => {
    asked.add(item)
    throw new Fault('gate_away', 'the gate does not answer', { retryable: true })
  })
  await expect(releaseUnits(shop)).rejects.toMatchObject({ code: 'gate_away' })
  expect([...asked].sort()).toEqual([...items].sort())
})

test('units come back in random steps; those that a dead process has left come back within a second of their closing', async () => {
  const [item] = await waiting(100)
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  console.log(`seed ${seed}`)
  const shop = contextOf(async () => DONE, seededRandom(seed))
  const steps: number[] = []
  // Written in the future: however slow this machine is, its first step is not over.
  await age(item!, -3_600_000)
  for (let round = 0; round < 4; round++) {
    const before = await left(item!)
    expect(await releaseUnits(shop)).toBe(false)
    steps.push(before - (await left(item!)))
  }
  // A fifth of what is left in every round, on the average: so large a step, or so few of them, happens to one run in 10^9.
  expect(Math.max(...steps)).toBeLessThan(60)
  expect(steps.filter(count => count > 0).length).toBeGreaterThan(1)
  expect(await left(item!)).toBeGreaterThan(0)

  await age(item!, 810)
  await releaseUnits(contextOf(async () => DONE, { ...systemRandom, next: () => 0.999 }))
  expect(await left(item!)).toBe(0)
})

test('an attempt whose units do not come back, and more units than a round takes, do not wait for a step', async () => {
  const never: Random = { ...systemRandom, next: () => 0.999 }
  const [written, many] = await waiting(3, 700)
  await ledger.sql("UPDATE releases SET outcome = 'gone', at = clock_timestamp() + interval '1 hour' WHERE item = $1", [
    written,
  ])
  await age(many!, 0)
  expect(await releaseUnits(contextOf(async () => DONE, never))).toBe(true)
  expect(await left(written!)).toBe(0)
  expect(await left(many!)).toBe(200)
})
