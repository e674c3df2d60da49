/** A process costs nothing for an item where nothing happens: counted in statements, rows and confirmations, never in time. */

import { expect, test } from 'bun:test'
import { FENCE_MS, openCluster } from '../../../test/harness/cluster-edge.ts'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { takeOrder } from '../sell/take-order.ts'

const ITEMS = 2_000
const ledger = ledgerForFile()

test('2,000 idle items: a round of an edge is one statement and one row, renews every fence and confirms nothing again', async () => {
  const cluster = openCluster(ledger)
  const { sale, item } = await cluster.openItem()
  await ledger.sql(
    `INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms, door, epoch)
     SELECT 5000000000 + n, $1, n, 'idle', 1000, 'CNY', 10, 10, 1, 1, 60000, 'draining', 1 FROM generate_series(1, $2::int) n`,
    [sale, ITEMS],
  )
  const edge = cluster.edge()
  const { run } = ledger.database
  const read = { statements: [] as string[], rows: 0 }
  Object.assign(ledger.database, {
    async run(name: string, values: unknown[]) {
      const rows = await run(name, values)
      read.statements.push(name)
      read.rows += rows.length
      return rows
    },
  })
  try {
    // Every connection that may answer has answered once.
    for (let quiet = 0; quiet < 5; ) {
      read.statements.length = 0
      await edge.round()
      quiet = read.statements.includes('followed_sales') ? 0 : quiet + 1
    }
    expect(edge.registry.size).toBe(ITEMS + 1)
    const confirmed = edge.confirmed.length
    expect(new Set(edge.confirmed.map(one => one.item)).size).toBe(ITEMS + 1)
    Object.assign(read, { statements: [], rows: 0 })
    for (let i = 0; i < 20; i++) {
      const sentAfterMs = cluster.clock.elapsed()
      await edge.round()
      for (const live of edge.registry.values()) expect(live.seenAtMs).toBeGreaterThanOrEqual(sentAfterMs)
    }
    expect(read.statements).toEqual(Array.from({ length: 20 }, () => 'changed_sales'))
    expect(read.rows).toBe(20)
    expect(edge.confirmed.length).toBe(confirmed)

    // One of them moves: one row, one confirmation, and its old entry sells no more.
    const old = edge.liveItem(item)
    const next = await cluster.raiseEpoch(item)
    Object.assign(read, { statements: [], rows: 0 })
    await edge.round()
    expect(read).toEqual({ statements: ['changed_sales'], rows: 1 })
    expect(edge.confirmed.slice(confirmed)).toEqual([{ item, epoch: next }])
    expect([old.current, edge.liveItem(item).epoch]).toEqual([false, next])
  } finally {
    Object.assign(ledger.database, { run })
  }
}, 300_000)

test('E2: an entry whose epoch the ledger does not show any more keeps no fence, though the others are renewed', async () => {
  const cluster = openCluster(ledger)
  const { item, epoch } = await cluster.openItem()
  const edge = cluster.edge()
  await edge.round()
  const live = edge.liveItem(item)
  // As after a restore from a backup: the epoch has gone back.
  await ledger.sql('UPDATE items SET epoch = epoch - 1, gate_epoch = least(gate_epoch, epoch - 1) WHERE id = $1', [
    item,
  ])
  await edge.round()
  const seenAtMs = live.seenAtMs
  cluster.clock.jump(FENCE_MS + 1)
  await edge.round()
  expect(edge.liveItem(item)).toBe(live)
  expect([live.epoch, live.seenAtMs]).toEqual([epoch, seenAtMs])
  expect((await takeOrder(edge.context, live, { buyer: 'ann', attempt: 1, quantity: 1 })).kind).toBe('busy')
})
