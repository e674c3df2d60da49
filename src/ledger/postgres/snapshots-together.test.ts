/** E9 for many items at once: every item's figures and attempts are of one moment, and an item that can't be read with the others holds up none of them. */

import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import type { SnapshotHolding } from '../rights.ts'

const ledger = ledgerForFile()

async function openItems(count: number, units = 10) {
  const items: { readonly item: string; readonly epoch: number }[] = []
  for (let i = 0; i < count; i++) {
    const { item } = await ledger.openItem({ units })
    items.push({ item, epoch: await ledger.rights.raiseEpoch(item) })
  }
  return items
}

async function snapshot({ item, epoch }: { readonly item: string; readonly epoch: number }) {
  const pages: SnapshotHolding[] = []
  const onPage = async (page: readonly SnapshotHolding[]) => void pages.push(...page)
  const terms = await ledger.rights.snapshot(item, epoch, onPage)
  return { terms, buyers: pages.map(({ buyer, live }) => `${buyer}${live ? '' : ' closed'}`) }
}

/** Counts transactions: each snapshot alone is one. */
async function counted<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly transactions: number }> {
  const { transaction } = ledger.database
  let transactions = 0
  Object.assign(ledger.database, {
    transaction(run: Parameters<typeof transaction>[0]) {
      transactions += 1
      return transaction(run)
    },
  })
  try {
    return { result: await work(), transactions }
  } finally {
    Object.assign(ledger.database, { transaction })
  }
}

test('six items: what each has sold and who holds it, in one transaction; from then on their epochs are the ones that are placed', async () => {
  const opened = await Promise.all(Array.from({ length: 6 }, () => ledger.openItem()))
  for (const [i, { item, epoch }] of opened.entries())
    for (let n = 0; n < i; n++) await ledger.orders.place(item, epoch, false, [ledger.ask(`buyer-${n}`)])
  const items: { readonly item: string; readonly epoch: number }[] = []
  for (const { item } of opened) items.push({ item, epoch: await ledger.rights.raiseEpoch(item) })
  const { result, transactions } = await counted(() => Promise.all(items.map(snapshot)))
  expect(transactions).toBe(1)
  for (const [i, { terms, buyers }] of result.entries()) {
    expect(terms).toMatchObject({ available: 10 - i, held: i, buyers: i, state: 'open', gateShards: 1 })
    expect(buyers).toEqual(Array.from({ length: i }, (_, n) => `buyer-${n}`))
  }
  const [first] = items
  const asked = ledger.ask('late')
  expect(await ledger.orders.place(first!.item, first!.epoch, true, [asked])).toMatchObject({
    placings: [{ verdict: 'placed' }],
  })
})

test('an item with another epoch, one with many orders and one that fails to load: the others are read as if alone', async () => {
  const items = await openItems(4, 1_000)
  const [overtaken, large, failing, usual] = items as [
    (typeof items)[0],
    (typeof items)[0],
    (typeof items)[0],
    (typeof items)[0],
  ]
  await ledger.sql(
    `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
     SELECT 7100000000000 + n, $1, 'many-' || n, 1, 1, 100, 'CNY', 'pending', 1, now(), now(), now() + interval '1 hour' FROM generate_series(1, 501) n`,
    [large.item],
  )
  await ledger.sql('UPDATE items SET available = available - 501 WHERE id = $1', [large.item])
  await ledger.rights.raiseEpoch(overtaken.item)
  const older = await ledger.rights.raiseEpoch(failing.item)
  await ledger.sql("UPDATE items SET door = 'draining', gate_epoch = $2 WHERE id = $1", [failing.item, older])
  await ledger.orders.place(failing.item, older, true, [ledger.ask('ann')])
  const refuse = () => Promise.reject(new Error('the gate does not load'))
  const [stale, many, failed, read] = await Promise.all([
    snapshot(overtaken),
    snapshot(large),
    ledger.rights.snapshot(failing.item, older, refuse).catch((error: unknown) => error),
    snapshot(usual),
  ])
  expect(stale.terms).toBeUndefined()
  expect(many.terms).toMatchObject({ available: 499, held: 501, buyers: 501 })
  expect(many.buyers).toHaveLength(501)
  expect(String(failed)).toContain('the gate does not load')
  expect(read.terms).toMatchObject({ available: 1_000, held: 0 })
})

test('an item that is locked is waited for alone', async () => {
  const items = await openItems(3)
  const locker = await ledger.database.connect()
  await locker.query('BEGIN')
  await locker.query('SELECT 1 FROM items WHERE id = $1 FOR UPDATE', [items[1]!.item])
  const read: string[] = []
  const all = Promise.all(
    items.map(async one => {
      const { terms } = await snapshot(one)
      read.push(one.item)
      return terms?.available
    }),
  )
  await until('the others are read', () => read.length === 2)
  expect(read).not.toContain(items[1]!.item)
  await locker.query('COMMIT')
  await locker.end()
  expect(await all).toEqual([10, 10, 10])
})

test('while orders are placed: in every snapshot the units that are held and those that are available are all there are', async () => {
  const opened = await Promise.all(Array.from({ length: 8 }, () => ledger.openItem({ units: 500 })))
  let stops = false
  const placing = opened.map(async ({ item, epoch }) => {
    for (let i = 0; !stops; i++) await ledger.orders.place(item, epoch, true, [ledger.ask(`buyer-${i}`)])
  })
  try {
    for (let round = 0; round < 5; round++) {
      // Under a new epoch each, as after a loss; entries of the old one become refusals, which are no attempts.
      const items: { readonly item: string; readonly epoch: number }[] = []
      for (const { item } of opened) items.push({ item, epoch: await ledger.rights.raiseEpoch(item) })
      for (const { terms, buyers } of await Promise.all(items.map(snapshot))) {
        expect(terms!.available + terms!.held).toBe(500)
        expect(buyers).toHaveLength(terms!.held)
      }
      // The same epoch is placed again.
      for (const { item, epoch } of opened)
        await ledger.sql('UPDATE items SET gate_epoch = $2 WHERE id = $1', [item, epoch])
    }
  } finally {
    stops = true
    await Promise.all(placing)
  }
}, 60_000)
