/** After the loss of a gate the epochs of all its items are raised together, and all of them wait for one fence. */

import { expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { type Clock, systemClock } from '../../base/clock.ts'

const ITEMS = 400
const FENCE_MS = 3_600_000
const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

test('400 items: raised by a few statements, one fence for all, then every gate is loaded and opened; a locked item holds up no other', async () => {
  const { sale, item } = await stage.fresh()
  await ledger.sql(
    `INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms)
     SELECT 5000000000 + n, $1, n, 'one of many', 1000, 'CNY', 10, 10, 1, 1, 60000 FROM generate_series(1, $2::int) n`,
    [sale, ITEMS - 1],
  )
  const items = [item, ...Array.from({ length: ITEMS - 1 }, (_, i) => String(5_000_000_001 + i))]
  /** Fences that are waited for; they end when the test says so. */
  const fences: (() => void)[] = []
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => (ms < FENCE_MS ? systemClock.sleep(ms, signal) : new Promise(end => void fences.push(end))),
  }
  const { run, transaction } = ledger.database
  const statements: string[] = []
  Object.assign(ledger.database, {
    transaction(work: Parameters<typeof transaction>[0]) {
      statements.push('transaction')
      return transaction(work)
    },
    run(name: string, values: unknown[]) {
      statements.push(name)
      return run(name, values)
    },
  })
  const count = (name: string) => statements.filter(one => one === name).length
  const behind = async (door: string) =>
    Number((await ledger.sql('SELECT count(*) FROM items WHERE sale = $1 AND door = $2', [sale, door]))[0]?.count)
  const keeper = stage.keeper({ clock, fenceMs: FENCE_MS })
  try {
    await until('all are on sale', async () => {
      await keeper.round()
      await keeper.idle()
      return (await behind('gate')) === ITEMS
    })
    expect(fences).toEqual([])
    const edge = await stage.holdingNode('edge')
    const order = await stage.reserve(item, 1, 'ann')
    const worker = stage.worker('worker', item)
    await worker.round()

    // One of them is locked by a transaction that takes its time.
    const locker = await ledger.database.connect()
    await locker.query('BEGIN')
    await locker.query('SELECT 1 FROM items WHERE id = $1 FOR UPDATE', [items.at(-1)])
    stage.restartEmpty()
    statements.length = 0
    await keeper.round()
    await until('all others wait for their fence', () => fences.length === ITEMS - 1)
    expect(await behind('draining')).toBe(ITEMS - 1)
    expect(count('raise_epochs_if_free')).toBeLessThanOrEqual(4)
    expect(count('holding_nodes')).toBeLessThanOrEqual(4)
    await locker.query('COMMIT')
    await locker.end()
    await until('the locked one too', () => fences.length === ITEMS)

    await Promise.all(items.map(one => edge.confirm(one, 2)))
    statements.length = 0
    stage.calls.length = 0
    for (const end of fences) end()
    await keeper.idle()
    expect(await behind('gate')).toBe(ITEMS)
    expect(count('unconfirmed_nodes') + count('items_rights')).toBeLessThanOrEqual(ITEMS / 8)
    expect(count('transaction'), 'snapshots').toBeLessThanOrEqual(ITEMS / 20)
    expect(count('sale_states')).toBeLessThanOrEqual(ITEMS / 20)
    expect(count('set_doors_if_free') + count('set_door')).toBeLessThanOrEqual(ITEMS / 20)
    expect(stage.calls.filter(name => name === 'look').length, 'reads of the gate').toBeLessThanOrEqual(ITEMS / 8)
    expect(count('find_sale'), 'a read of all items for each of them').toBe(0)
    expect(fences.length, 'one fence each, all at the same time').toBe(ITEMS)
    const { items: statuses } = await stage.gate.status(items)
    expect(statuses.filter(one => one.epoch === 2 && one.left === 10)).toHaveLength(ITEMS - 1)
    expect(statuses.find(one => one.item === item)).toMatchObject({ epoch: 2, left: 9, held: 1 })
    expect((await ledger.orders.find([order])).map(({ state }) => state)).toEqual(['pending'])
  } finally {
    Object.assign(ledger.database, { run, transaction })
  }
}, 300_000)
