import { describe, expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { createOrphanSearch, createUnplacedReservations } from '../follow/unplaced-reservations.ts'
import { createForgetSales } from '../keep/forget-sales.ts'
import { createPlacedCheck, createSaleSettler } from './settle-over-sales.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

const SALES = 60
const ITEMS = 20
const SCHEDULED = 1_500
/** More than enough for every list to be gone through several times. */
const ROUNDS_MAX = 40
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** `count` sales with so many items each that a gate of Redis had, in the order of their ends; the last ended two hours ago. */
async function ended(count: number, items: number) {
  await stage.fresh()
  await ledger.sql('DELETE FROM reconciliations')
  await ledger.sql('DELETE FROM sales')
  const sales = Array.from({ length: count }, () => ({ id: ledger.id(), items: ids(items) }))
  await ledger.sql(
    `INSERT INTO sales (id, name, opens_at, closes_at, state)
     SELECT id, 'ended', now() - interval '3 days', now() - interval '2 hours' - ($2 - nth) * interval '1 minute', 'ready'
     FROM unnest($1::bigint[]) WITH ORDINALITY AS made (id, nth)`,
    [sales.map(({ id }) => id), count],
  )
  await addItems(sales, 1, 'gate')
  return sales
}

async function scheduled(count: number): Promise<void> {
  const sales = Array.from({ length: count }, () => ({ id: ledger.id(), items: ids(1) }))
  await ledger.sql(
    `INSERT INTO sales (id, name, opens_at, closes_at, state)
     SELECT id, 'scheduled', now() + interval '1 day', now() + interval '2 days', 'ready' FROM unnest($1::bigint[]) AS made (id)`,
    [sales.map(({ id }) => id)],
  )
  await addItems(sales, 0, 'shut')
}

const ids = (count: number) => Array.from({ length: count }, () => ledger.id())

async function addItems(sales: readonly { id: string; items: readonly string[] }[], epoch: number, door: string) {
  const rows = sales.flatMap(sale => sale.items.map((item, position) => ({ sale: sale.id, item, position })))
  await ledger.sql(
    `INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms, epoch, gate_epoch, door)
     SELECT item, sale, position, 'thing', 100, 'EUR', 10, 10, 1, 3, 900000, $4, $4, $5
     FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS made (item, sale, position)`,
    [rows.map(row => row.item), rows.map(row => row.sale), rows.map(row => row.position), epoch, door],
  )
}

/** An entry left in the outbox: a buyer was told `202`. */
function leave(item: string): void {
  const ask = stage.ask(`buyer of ${item}`)
  stage.put(item, 1, [{ ...ask, reservedAtMs: ask.askedAtMs }])
}

const settler = (change: Partial<Parameters<typeof createSaleSettler>[0]> = {}) =>
  createSaleSettler({
    sales: ledger.sales,
    reconciliation: ledger.reconciliation,
    reconcile: async () => ({ differences: [], repairs: [] }),
    allPlaced: createPlacedCheck(stage.gate, stage.outbox),
    alarm() {},
    clock: systemClock,
    log: quiet,
    ...change,
  })

const forgetter = (change: Partial<Parameters<typeof createForgetSales>[0]> = {}) =>
  createForgetSales({
    gate: stage.gate,
    outbox: stage.outbox,
    rights: ledger.rights,
    sales: ledger.sales,
    reconciliation: ledger.reconciliation,
    keeper: stage.keeper(),
    log: quiet,
    maySell: () => true,
    afterMs: 0,
    ...change,
  })

/** Rounds, until `holds` or too many. */
async function rounds(round: () => Promise<unknown>, holds: () => Promise<boolean>): Promise<boolean> {
  for (let i = 0; i < ROUNDS_MAX; i++) {
    await round().catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
    })
    if (await holds()) return true
  }
  return false
}

const finals = async () =>
  (await ledger.sql('SELECT sale FROM reconciliations WHERE final')).map(row => String(row.sale))
const settle = (sales: readonly { id: string }[]) =>
  ledger.sql(
    `INSERT INTO reconciliations (sale, final, differences, repairs) SELECT id, true, '[]', '[]' FROM unnest($1::bigint[]) AS made (id)`,
    [sales.map(({ id }) => id)],
  )

describe('with 60 ended sales of 20 items, an entry left in each,', () => {
  test('every item is found, and a buyer of the first is not told that there is no order', async () => {
    const sales = await ended(SALES, ITEMS)
    const items = sales.flatMap(sale => sale.items)
    for (const item of items) leave(item)
    // The first call stops when it has found many; the second finds what lies behind them.
    const search = createOrphanSearch({ ...stage, reconciliation: ledger.reconciliation })
    expect([...(await search()), ...(await search())].toSorted()).toEqual(items.toSorted())
    const unplaced = createUnplacedReservations({
      ...stage,
      rights: ledger.rights,
      reconciliation: ledger.reconciliation,
      registry: new Map(),
      follows: () => true,
    })
    for (const sale of [sales[0]!, sales[SALES - 1]!])
      for (const item of [sale.items[0]!, sale.items[ITEMS - 1]!]) expect(await unplaced.maybe(item)).toBe(true)
  })

  test('a sale without one is settled, whichever it is', async () => {
    const sales = await ended(SALES + 2, ITEMS)
    const [first, last] = [sales[0]!, sales[SALES + 1]!]
    for (const sale of sales) if (sale !== first && sale !== last) for (const item of sale.items) leave(item)
    const { round } = settler()
    const both = async () => (await finals()).length === 2
    expect(await rounds(round, both)).toBe(true)
    expect((await finals()).toSorted()).toEqual([first.id, last.id].toSorted())
  })

  test('all of them are placed, settled and removed from the gate, beside 1,500 scheduled ones', async () => {
    const sales = await ended(SALES, ITEMS)
    await scheduled(SCHEDULED)
    const items = sales.flatMap(sale => sale.items)
    for (const item of items) leave(item)
    const was = stage.forgotten.length
    const search = createOrphanSearch({ ...stage, reconciliation: ledger.reconciliation })
    let orphaned: readonly string[] = []
    const worker = stage.worker('w', '', { items: () => orphaned })
    const { round } = settler()
    const forget = forgetter()
    const all = async () => {
      orphaned = await search()
      await worker.work()
      // What was placed is paid: the sale is at rest.
      await ledger.sql("UPDATE orders SET state = 'paid', paid_at = now() WHERE state = 'pending'")
      await round()
      await forget()
    }
    expect(await rounds(all, async () => stage.forgotten.length - was >= items.length)).toBe(true)
    expect(stage.forgotten.slice(was).toSorted()).toEqual(items.toSorted())
    expect(await finals()).toHaveLength(SALES)
    const [{ shut } = {}] = await ledger.sql(
      "SELECT count(*)::int AS shut FROM items WHERE epoch = 2 AND door = 'shut'",
    )
    expect(shut).toBe(items.length)
  }, 300_000)
})

test('a settled sale leaves the gate although more than a thousand are scheduled, or wait for what can not be told', async () => {
  const sales = await ended(SALES, 1)
  await scheduled(SCHEDULED)
  await settle(sales)
  const [first, last] = [sales[0]!, sales[SALES - 1]!]
  const removable = [first.items[0]!, last.items[0]!]
  for (const sale of sales) for (const item of sale.items) if (!removable.includes(item)) leave(item)
  const was = stage.forgotten.length
  const forget = forgetter()
  expect(await rounds(forget, async () => stage.forgotten.length - was >= 2)).toBe(true)
  expect(stage.forgotten.slice(was).toSorted()).toEqual(removable.toSorted())
}, 300_000)

test('a sale that can not be settled or removed now does not keep the others from it', async () => {
  const sales = await ended(5, 1)
  const bad = sales[0]!
  const fault = () => new Fault('ledger_away', 'the ledger did not answer', { retryable: true })
  const { round } = settler({
    async reconcile(sale) {
      if (sale.id === bad.id) throw fault()
      return { differences: [], repairs: [] }
    },
  })
  expect(await rounds(round, async () => (await finals()).length === 4)).toBe(true)
  await settle([bad])
  const was = stage.forgotten.length
  const forget = forgetter({
    outbox: {
      ...stage.outbox,
      async forget(item) {
        if (bad.items.includes(item)) throw fault()
        return stage.outbox.forget(item)
      },
    },
  })
  expect(await rounds(forget, async () => stage.forgotten.length - was === 4)).toBe(true)
}, 300_000)

test('what was removed from the gate is not removed again, by this process or the next', async () => {
  const sales = await ended(3, 2)
  await settle(sales)
  await ledger.sql("UPDATE items SET door = 'shut' WHERE id = $1", [sales[0]!.items[0]])
  const was = stage.forgotten.length
  await forgetter()()
  expect(stage.forgotten.length - was).toBe(6)
  await forgetter()()
  expect(stage.forgotten.length - was).toBe(6)
})
