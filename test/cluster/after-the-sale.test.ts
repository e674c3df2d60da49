/** A sale that ended hours ago, and that no process follows any more: its units still come back, and it is settled. */

import { afterEach, expect, test } from 'bun:test'
import { Cluster } from '../harness/cluster.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { until } from '../harness/until.ts'

const SOON_MS = 120_000

const playground = new Playground()
afterEach(() => playground.undo())

for (const [what, shards, lost] of [
  ['an item in one shard', 1, false],
  ['a sharded item', 4, false],
  ['an item whose gate was lost since', 4, true],
] as const)
  test(`an order of ${what} that is not paid in time, hours after its sale, goes back to the gate, and the sale is settled`, async () => {
    const cluster = await Cluster.start(playground, { edges: 1, workers: 1, keepers: 1 })
    const sql = (text: string) => cluster.sql(text)
    const shop = new Shop(() => cluster.url())
    const sale = await shop.openSale(-1_000, [{ units: 64, shards, payWithinSeconds: 86_400 }])
    const ticket = await shop.ticket('ann', sale.id, sale.items[0]!.id)
    await until('an order', async () => 'order' in (await shop.order(ticket, 1)).answer, SOON_MS)
    await until('it is placed', async () => (await sql("SELECT 1 FROM orders WHERE state = 'pending'")).length === 1)
    await sql("UPDATE sales SET opens_at = now() - interval '3 hours', closes_at = now() - interval '2 hours'")
    // A keeper that was started since then has never followed it.
    const [keeper] = cluster.of('keeper')
    await keeper!.kill()
    await keeper!.startAgain()
    if (lost) {
      await cluster.redis.kill()
      await cluster.redis.start()
    }
    await sql("UPDATE orders SET pay_by = now() - interval '1 second'")
    await until(
      'it is closed',
      async () => (await sql("SELECT 1 FROM orders WHERE state = 'closed'")).length === 1,
      SOON_MS,
    )
    await until('its unit is back', async () => (await sql('SELECT 1 FROM releases')).length === 0, SOON_MS)
    await until(
      'the final report',
      async () => (await sql('SELECT 1 FROM reconciliations WHERE final')).length === 1,
      SOON_MS,
    )
    const [report] = await sql('SELECT differences FROM reconciliations WHERE final')
    expect(report?.differences).toEqual([])
  }, 300_000)
