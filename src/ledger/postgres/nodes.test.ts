import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { startTestLedger, type TestLedger } from '../../../test/harness/money-ledger.ts'
import type { Nodes } from '../nodes.ts'
import { createNodes } from './nodes.ts'

const NOW_MS = 1_800_000_000_000

let ledger: TestLedger
let nodes: Nodes
beforeAll(async () => {
  ledger = await startTestLedger()
  nodes = createNodes(ledger.database)
}, 30_000)
beforeEach(() => ledger.sql('TRUNCATE nodes'))
afterAll(() => ledger.stop())

const lapse = (node: number) =>
  ledger.sql("UPDATE nodes SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1", [node])

test('no two holders have the same number, also when a whole cluster starts at once', async () => {
  // Two pools: more calls are really under way at once than one of them would let through.
  const second = ledger.connect()
  const doors = [nodes, createNodes(second)]
  const holders = Array.from({ length: 80 }, (_, i) => `holder-${i}`)
  try {
    const leases = await Promise.all(holders.map((holder, i) => doors[i % 2]?.lease(holder, NOW_MS)))
    expect(new Set(leases.map(lease => lease?.node)).size).toBe(holders.length)
  } finally {
    await second.close()
  }
})

test('a number that lapsed is handed on, and its new holder starts after the old bound', async () => {
  const first = await nodes.lease('first', NOW_MS)
  expect(first).toMatchObject({ node: 0, fromMs: 0 })
  expect((await nodes.lease('second', NOW_MS)).node).toBe(1)
  await lapse(0)
  // Not while the old bound lies ahead of the newcomer's clock: the old holder may have made ids up to there.
  expect((await nodes.lease('third', first.untilMs)).node).toBe(2)
  const handed = await nodes.lease('fourth', first.untilMs + 1)
  expect(handed).toMatchObject({ node: 0, fromMs: first.untilMs })
  expect(handed.untilMs).toBeGreaterThan(first.untilMs)
  expect(await nodes.renew(0, 'first', first.untilMs + 10), 'who lost it does not get it back').toBeUndefined()
})

test('renewing moves the bound forwards only, whatever the clock does', async () => {
  const { node, untilMs } = await nodes.lease('me', NOW_MS)
  expect(await nodes.renew(node, 'me', NOW_MS + 5_000)).toBe(untilMs + 5_000)
  expect(await nodes.renew(node, 'me', NOW_MS - 3_600_000)).toBe(untilMs + 5_000)
  expect(await nodes.renew(node, 'somebody else', NOW_MS)).toBeUndefined()
})

test('a number given back is free at once, from the last millisecond that was used', async () => {
  const { node } = await nodes.lease('me', NOW_MS)
  await nodes.giveBack(node, 'somebody else', NOW_MS + 1)
  expect((await nodes.lease('other', NOW_MS + 10)).node).toBe(1)
  await nodes.giveBack(node, 'me', NOW_MS + 1)
  expect(await nodes.lease('next', NOW_MS + 10)).toMatchObject({ node, fromMs: NOW_MS + 1 })
})

test('when all numbers are held, it says so', async () => {
  await ledger.sql(
    "INSERT INTO nodes SELECT n, 'x', 0, clock_timestamp() + interval '1 minute' FROM generate_series(0, 1023) n",
  )
  await expect(nodes.lease('late', NOW_MS)).rejects.toMatchObject({ code: 'no_node_id' })
})
