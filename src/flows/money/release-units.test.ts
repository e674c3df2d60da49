import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Gate } from '../../gate/gate.ts'
import { MemoryGate } from '../../gate/memory/memory-gate.ts'
import { releaseUnits } from './release-units.ts'

const ledger = ledgerForFile()

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

function contextOf(release: (item: string) => Promise<typeof DONE>) {
  const gate: Gate = Object.assign(new MemoryGate(systemClock), { release })
  return { gate, closings: ledger.closings, onReleased() {} }
}

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
