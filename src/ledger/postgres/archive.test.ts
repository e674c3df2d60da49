import { describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { checkPromises } from '../../domain/promises/check.ts'
import { createArchive } from './archive.ts'

const ledger = ledgerForFile()
const archive = () => createArchive(ledger.database, true)
const DAY_MS = 86_400_000
const CNY = (amount: number) => ({ amount, currency: 'CNY' })

/** The sale is over, finally reconciled so many days ago, and its item forgotten by the gate. */
async function settle(sale: string, item: string, daysAgo = 40): Promise<void> {
  await ledger.sql("UPDATE sales SET state = 'over' WHERE id = $1", [sale])
  await ledger.reconciliation.save(sale, 'final', { differences: [], repairs: [] }, { results: [] })
  await ledger.sql("UPDATE reconciliations SET at = at - $2::int * interval '1 day' WHERE sale = $1", [sale, daysAgo])
  await ledger.sql(
    "UPDATE migrations SET at = at - interval '400 days' WHERE name LIKE '%_archive.sql' AND at > now() - interval '1 day'",
  )
  const epoch = await ledger.rights.raiseEpoch(item)
  expect(await ledger.rights.setForgotten(item, epoch)).toBe(true)
  await ledger.closings.releaseIdle()
}

/** Two batches of this size at least, and then as many as it takes. */
async function archiveAll(item: string, max = 2): Promise<number> {
  let moved = 0
  for (let after = '0'; ; ) {
    const batch = await archive().move(item, after, max)
    if (batch === undefined) throw new Error('not settled')
    moved += batch.moved
    if (batch.last === undefined) return moved
    after = batch.last
  }
}

/** Where the rows of an item are, and that no promise is broken by what the ledger shows of them. */
async function whereabouts(sale: string, item: string) {
  const count = async (table: string) =>
    Number((await ledger.sql(`SELECT count(*) AS n FROM ${table} WHERE item = $1`, [item]))[0]?.n)
  const [state] = await ledger.sql('SELECT archive FROM items WHERE id = $1', [item])
  const [line] = await ledger.reconciliation.audit(sale)
  const orders = await ledger.orders.list({ sale, limit: 1_000 })
  const violations = checkPromises({
    quiet: true,
    items: [{ ...line!, rule: 'first_come', gate: undefined, outbox: 0, oldestReleaseMs: undefined, changes: [] }],
    orders,
    told: [],
    payments: await ledger.payments.ofOrders(orders.map(one => one.id)),
    bounds: [],
    refusals: { refusedAtEdge: 0, networkCalls: 0 },
  })
  expect(violations).toEqual([])
  expect(line!.available + line!.pending + line!.paid).toBe(line!.units)
  expect(new Set(orders.map(one => one.id)).size, 'each order once').toBe(orders.length)
  return {
    archive: state?.archive,
    hot: await count('orders'),
    archived: await count('orders_archive'),
    payments: [await count('payments'), await count('payments_archive')],
  }
}

async function pay(order: string): Promise<string> {
  const id = ledger.id()
  await ledger.payments.start(id, order, 'bank')
  expect(await ledger.payments.capture('bank', id, CNY(1_000), Date.now())).toMatchObject({ outcome: 'paid' })
  return id
}

/** Six buyers: a and b have paid, c's payment was cancelled before its order was, d cancelled, e and f were not paid in time. */
async function sold() {
  const { sale, item, epoch } = await ledger.openItem({ units: 10 })
  const asks = ['a', 'b', 'c', 'd', 'e', 'f'].map(name => ledger.ask(`${name}-${item}`))
  await ledger.orders.place(item, epoch, false, asks)
  const [a, b, c, d, e, f] = asks.map(ask => ask.order) as [string, string, string, string, string, string]
  const paidA = await pay(a)
  await pay(b)
  const voidC = ledger.id()
  await ledger.payments.start(voidC, c, 'bank')
  await ledger.payments.move(voidC, 'started', 'void')
  await ledger.closings.close(item, [c, d], 'cancelled')
  await ledger.sql("UPDATE orders SET pay_by = now() - interval '1 hour' WHERE item = $1 AND state = 'pending'", [item])
  await ledger.closings.close(item, [e, f], 'unpaid')
  return { sale, item, epoch, asks, orders: [a, b, c, d, e, f] as const, paidA, voidC }
}

async function archived() {
  const all = await sold()
  await settle(all.sale, all.item)
  expect(await archiveAll(all.item)).toBe(6)
  expect(await whereabouts(all.sale, all.item)).toEqual({ archive: 'done', hot: 0, archived: 6, payments: [0, 3] })
  return all
}

describe('moving', () => {
  test('both tables have the same columns, in the same order', async () => {
    const columnsOf = (table: string) =>
      ledger.sql(
        `SELECT column_name, data_type, is_nullable FROM information_schema.columns
         WHERE table_name = $1 ORDER BY ordinal_position`,
        [table],
      )
    for (const table of ['orders', 'payments']) {
      expect(await columnsOf(`${table}_archive`)).toEqual(await columnsOf(table))
      expect((await columnsOf(`all_${table}`)).map(one => one.column_name)).toEqual(
        (await columnsOf(table)).map(one => one.column_name),
      )
    }
  })

  test('takes settled items only, and no sooner than asked for', async () => {
    const { sale, item } = await sold()
    const listed = async (afterDays: number) =>
      (await archive().toArchive('0', afterDays * DAY_MS, 10_000)).includes(item)
    expect(await listed(0)).toBe(false)
    expect(await archive().move(item, '0', 10)).toBeUndefined()
    await settle(sale, item)
    expect([await listed(41), await listed(39)]).toEqual([false, true])
    // Removed from a gate outside the process; where there is none, the shut door says it.
    await ledger.sql('UPDATE items SET forgotten_epoch = NULL WHERE id = $1', [item])
    expect(await listed(39)).toBe(false)
    const alone = createArchive(ledger.database, false)
    expect((await alone.toArchive('0', 39 * DAY_MS, 10_000)).includes(item)).toBe(true)
    await ledger.sql('UPDATE items SET forgotten_epoch = epoch WHERE id = $1', [item])
    // Not for as long as the migration itself is younger: processes of the version before may still run.
    await ledger.sql("UPDATE migrations SET at = now() - interval '38 days' WHERE name LIKE '%_archive.sql'")
    expect(await listed(39)).toBe(false)
    await ledger.sql("UPDATE migrations SET at = now() - interval '400 days' WHERE name LIKE '%_archive.sql'")
    // Nor while one of them has a lease, or had one a moment ago.
    const lease =
      "INSERT INTO nodes (id, holder, until_ms, lease_until) VALUES (1000, 'older', 0, now() - interval '30 seconds')"
    await ledger.sql(lease)
    expect(await listed(39)).toBe(false)
    await ledger.sql('UPDATE nodes SET archive_holder = holder WHERE id = 1000')
    expect(await listed(39)).toBe(true)
    await ledger.sql('DELETE FROM nodes WHERE id = 1000')
    for (const [open, close] of [
      [
        "INSERT INTO stock_changes (item, no, delta, state, reason, by) VALUES ($1, 9, 1, 'asked', 'r', 'b')",
        'DELETE FROM stock_changes WHERE item = $1',
      ],
      [
        'INSERT INTO shard_moves (item, no, epoch, from_shard, to_shard, wanted) VALUES ($1, 9, 1, 0, 1, 1)',
        'DELETE FROM shard_moves WHERE item = $1',
      ],
      [
        "INSERT INTO releases (order_id, item, buyer, attempt, pieces, outcome) VALUES (1, $1, 'x', 1, 1, 'closed')",
        'DELETE FROM releases WHERE item = $1',
      ],
    ] as const) {
      await ledger.sql(open, [item])
      expect(await archive().move(item, '0', 10), open).toBeUndefined()
      await ledger.sql(close, [item])
    }
    expect(await archive().move(item, '0', 10)).toEqual({ moved: 6, last: undefined })
    expect(await listed(39)).toBe(false)
  })

  test('a sale that was to end after the last id there is moves as well', async () => {
    const { sale, item } = await sold()
    await ledger.sql("UPDATE sales SET closes_at = '2150-01-01Z' WHERE id = $1", [sale])
    await settle(sale, item)
    expect(await archiveAll(item)).toBe(6)
    expect(await whereabouts(sale, item)).toMatchObject({ archive: 'done', hot: 0, archived: 6 })
  })

  test('a process that dies between two batches leaves every order in one place; the next goes on', async () => {
    const { sale, item, asks } = await sold()
    await settle(sale, item)
    expect(await archive().move(item, '0', 2)).toMatchObject({ moved: 2 })
    expect(await whereabouts(sale, item)).toEqual({ archive: 'moving', hot: 4, archived: 2, payments: [1, 2] })
    const ids = asks.map(ask => ask.order)
    expect((await ledger.orders.find(ids)).map(one => one.id).toSorted()).toEqual(ids)
    // From the start again, as the next process does.
    expect(await archiveAll(item)).toBe(4)
    expect(await archive().move(item, '0', 2)).toBeUndefined()
    expect(await whereabouts(sale, item)).toEqual({ archive: 'done', hot: 0, archived: 6, payments: [0, 3] })
  })

  test('readers see each order once at every moment while it moves there and back', async () => {
    const { sale, item, asks } = await sold()
    await settle(sale, item)
    let moving = true
    const read = async () => {
      let reads = 0
      for (; moving; reads++) {
        const found = await ledger.orders.find(asks.map(ask => ask.order))
        expect(found.length).toBe(6)
        const [line] = await ledger.reconciliation.audit(sale)
        expect(line!.available + line!.pending + line!.paid).toBe(line!.units)
      }
      return reads
    }
    const reading = [read(), read()]
    for (let i = 0; i < 15; i++) {
      await archiveAll(item, 1 + (i % 3))
      await ledger.sql('SELECT recall_item($1, 2), recall_item($1, 4), recall_item($1, 4)', [item])
    }
    moving = false
    for (const reads of await Promise.all(reading)) expect(reads).toBeGreaterThan(0)
  })

  test('an order with money or a release on its way stays, and follows when that is done', async () => {
    const { sale, item, orders, voidC, paidA } = await sold()
    await settle(sale, item)
    // Late money for a payment that was cancelled; and captured money whose order is not paid.
    await ledger.payments.capture('bank', voidC, CNY(1_000), Date.now())
    await ledger.sql("UPDATE orders SET state = 'closed', reason = 'refunded', closed_at = now() WHERE id = $1", [
      orders[0],
    ])
    await ledger.sql('UPDATE items SET available = available + 1 WHERE id = $1', [item])
    expect(await archiveAll(item)).toBe(4)
    expect(
      (await ledger.sql('SELECT id::text FROM orders WHERE item = $1 ORDER BY id', [item])).map(one => one.id),
    ).toEqual([orders[0], orders[2]])
    expect(await ledger.payments.decideCapture(paidA)).toBe('late')
    for (const payment of [paidA, voidC])
      expect(await ledger.payments.move(payment, 'refund_due', 'refunded')).toBe(true)
    expect(await archiveAll(item)).toBe(2)
    expect(await whereabouts(sale, item)).toMatchObject({ archive: 'done', hot: 0, archived: 6 })
  })
})

describe('an archived item', () => {
  test('is locked before its payment, also when the payment came back between two looks: a refund locks them in that order', async () => {
    const { item, orders, paidA } = await archived()
    // What capture sees when another transaction brings the order back after capture has looked for the order, and before the payment.
    await ledger.sql(
      'WITH gone AS (DELETE FROM payments_archive WHERE order_id = $1 RETURNING *) INSERT INTO payments SELECT * FROM gone',
      [orders[0]],
    )
    const refunding = await ledger.database.connect()
    try {
      await refunding.query('BEGIN')
      await refunding.query('SELECT 1 FROM items WHERE id = $1 FOR UPDATE', [item])
      const captured = ledger.payments.capture('bank', paidA, CNY(1_000), Date.now())
      await until('the capture to wait for the item', async () => {
        const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '-- capture:%'`
        return (await ledger.sql(waiting)).length === 1
      })
      await refunding.query('SELECT 1 FROM payments WHERE order_id = $1 FOR UPDATE NOWAIT', [orders[0]])
      await refunding.query('ROLLBACK')
      expect(await captured).toMatchObject({ outcome: 'same' })
    } finally {
      await refunding.end()
    }
  })

  test('is found by every reader', async () => {
    const { sale, asks, orders, paidA, item } = await archived()
    const [a] = asks
    expect(await ledger.orders.find(orders)).toHaveLength(6)
    expect(await ledger.orders.ofBuyer(a!.buyer, undefined, 10)).toMatchObject([{ id: orders[0], state: 'paid' }])
    expect(await ledger.orders.ofBuyers([{ item, buyer: a!.buyer }])).toMatchObject([{ id: orders[0] }])
    expect(await ledger.orders.list({ sale, state: 'paid', limit: 10 })).toHaveLength(2)
    const second = await ledger.orders.list({ sale, after: orders[1], limit: 2 })
    expect(second.map(one => one.id)).toEqual([orders[2], orders[3]])
    expect(await ledger.payments.find('bank', paidA)).toMatchObject({ order: orders[0], state: 'captured' })
    expect(await ledger.payments.ofOrders([orders[0], orders[2]])).toHaveLength(2)
    expect(await ledger.reconciliation.results(sale)).toMatchObject([
      { orders: 6, unitsPaid: 2, unpaidOrders: 2, cancelledOrders: 2, revenue: { amount: 2_000 } },
    ])
    expect(await ledger.reconciliation.audit(sale)).toMatchObject([
      { paid: 2, closed: 4, ordersPlaced: 6, ordersPaid: 2 },
    ])
  })

  test('the same attempt gets the same order for ever; a late reservation gets its row, and no unit is sold', async () => {
    const { sale, item, epoch, asks, orders } = await archived()
    // A hand-over that comes a month late: the same ids, the same attempt under another id, and a new buyer.
    const twin = { ...ledger.ask(asks[1]!.buyer), attempt: 1 }
    const stranger = ledger.ask(`stranger-${item}`)
    const reply = await ledger.orders.place(item, epoch, true, [
      asks[0]!,
      twin,
      stranger,
      { ...asks[3]!, buyer: 'eve' },
    ])
    expect(reply).toMatchObject({
      status: 'ok',
      placings: [
        { verdict: 'same', order: { id: orders[0], state: 'paid' } },
        { verdict: 'refused', order: { supersededBy: orders[1] } },
        { verdict: 'refused', order: { supersededBy: undefined } },
        { verdict: 'id_conflict' },
      ],
    })
    expect(await whereabouts(sale, item)).toMatchObject({ archive: 'moving', hot: 5, archived: 3 })
    expect(await ledger.orders.refuse(item, epoch, asks[4]!)).toMatchObject({ id: orders[4], reason: 'unpaid' })
    expect(await ledger.orders.refuse(item, epoch, ledger.ask(asks[5]!.buyer))).toMatchObject({
      supersededBy: orders[5],
    })
    expect(await ledger.orders.place(item, epoch, false, [ledger.ask('new')])).toEqual({ status: 'stale' })
    expect(await ledger.orders.placeDirectly(item, epoch, [ledger.ask('new')])).toEqual({ status: 'stale' })
    expect(await archiveAll(item)).toBe(8)
    expect(await whereabouts(sale, item)).toMatchObject({ archive: 'done', hot: 0, archived: 9 })
  })

  test('a refund brings its order back, gives the unit back, and the order returns to the archive when the money has', async () => {
    const { sale, item, orders, paidA } = await archived()
    expect(await ledger.closings.refund(orders[2], item, true, 'ops')).toBe('not_paid')
    expect(await ledger.closings.refund(orders[0], item, true, 'ops')).toBe('refunded')
    expect(await ledger.closings.refund(orders[0], item, true, 'ops')).toBe('same')
    expect(await whereabouts(sale, item)).toMatchObject({ archive: 'moving', hot: 2, archived: 4 })
    // The release waits for no gate: the door is shut. The order with the money on its way stays.
    expect(await archiveAll(item)).toBe(1)
    await ledger.closings.releaseIdle()
    const [claimed] = await ledger.payments.claim([{ lane: { state: 'refund_due', provider: 'bank' }, room: 10 }], [])
    expect(claimed).toMatchObject({ id: paidA, order: orders[0], wanted: false })
    expect(await ledger.payments.move(paidA, 'refund_due', 'refunded')).toBe(true)
    expect(await archiveAll(item)).toBe(1)
    expect(await whereabouts(sale, item)).toMatchObject({ archive: 'done', hot: 0, archived: 6 })
    expect(await ledger.reconciliation.audit(sale)).toMatchObject([{ paid: 1, available: 9, units: 10 }])
  })

  test('a part of a refund brings its order back, and the order returns to the archive when the provider has confirmed it', async () => {
    const { sale, item, orders, paidA } = await archived()
    const ask = { id: ledger.id(), order: orders[0], item, amount: CNY(400), restock: false, reason: 'late', by: 'ops' }
    expect(await ledger.refunds.part(ask)).toEqual({ outcome: 'part', refundable: CNY(600) })
    expect(await ledger.refunds.part(ask)).toEqual({ outcome: 'same', refundable: CNY(600) })
    expect(await archiveAll(item), 'only its money stays').toBe(0)
    expect(await whereabouts(sale, item)).toMatchObject({ archive: 'moving', hot: 1 })
    const [due] = await ledger.refunds.claim([{ lane: 'bank', room: 10 }], [])
    expect(due).toMatchObject({ id: ask.id, payment: paidA, order: orders[0] })
    expect(await ledger.refunds.settle(ask.id)).toBe(true)
    expect(await archiveAll(item)).toBe(1)
    expect(await whereabouts(sale, item)).toMatchObject({ archive: 'done', hot: 0 })
    // Another part of what is in the archive counts those before it.
    const more = { ...ask, id: ledger.id(), amount: CNY(601) }
    expect(await ledger.refunds.part(more)).toEqual({ outcome: 'too_much', refundable: CNY(600) })
    expect(await ledger.reconciliation.paymentsAmiss(sale)).toEqual([])
  })

  test('money that arrives late for an archived order becomes a refund, once', async () => {
    const { sale, item, orders, paidA, voidC } = await archived()
    expect(await ledger.payments.capture('bank', paidA, CNY(1_000), Date.now())).toMatchObject({ outcome: 'same' })
    expect(await ledger.payments.capture('bank', voidC, CNY(9), Date.now())).toMatchObject({ outcome: 'wrong_amount' })
    expect(await ledger.payments.capture('bank', 'nothing', CNY(9), Date.now())).toMatchObject({ outcome: 'unknown' })
    const late = await Promise.all([1, 2].map(() => ledger.payments.capture('bank', voidC, CNY(1_000), Date.now())))
    expect(late.map(one => one.outcome).toSorted()).toEqual(['late', 'same'])
    expect(late[0]).toMatchObject({ order: orders[2], item })
    expect(await ledger.payments.ofOrders([orders[2]])).toMatchObject([{ state: 'refund_due', why: 'late' }])
    expect(await whereabouts(sale, item)).toMatchObject({ archive: 'moving', payments: [2, 1] })
  })

  test('late money that waits for the very batch that moves its order is not lost', async () => {
    const { sale, item, orders, voidC } = await sold()
    await settle(sale, item)
    const mover = await ledger.database.connect()
    try {
      await mover.query('BEGIN')
      await mover.query('SELECT * FROM archive_orders($1, 0, 100)', [item])
      const capturing = ledger.payments.capture('bank', voidC, CNY(1_000), Date.now())
      const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FROM capture(%'"
      await until('the capture waits for the order', async () => (await ledger.sql(waiting)).length === 1)
      await mover.query('COMMIT')
      expect(await capturing).toMatchObject({ outcome: 'late', order: orders[2] })
    } finally {
      await mover.end()
    }
    const [hot] = await ledger.sql('SELECT state FROM payments WHERE id = $1', [voidC])
    expect(hot, 'where the keeper finds it').toEqual({ state: 'refund_due' })
    expect(await whereabouts(sale, item)).toEqual({ archive: 'moving', hot: 1, archived: 5, payments: [1, 2] })
    expect(ledger.deadlocks()).toBe(0)
  })

  test('is not put on sale with orders outside the unique keys: a gate or the ledger’s door brings all back first', async () => {
    const { sale, item, asks } = await archived()
    await expect(ledger.sql('UPDATE items SET gate_epoch = epoch WHERE id = $1', [item])).rejects.toThrow(
      /check constraint/,
    )
    await expect(ledger.sql("UPDATE items SET door = 'ledger' WHERE id = $1", [item])).rejects.toThrow(
      /check constraint/,
    )
    expect(await ledger.rights.openLedgerDoor(item, 'ops')).toBe(false)
    // A clock was wrong, and the sale is not over.
    await ledger.sql("UPDATE sales SET state = 'ready', closes_at = now() + interval '1 hour' WHERE id = $1", [sale])
    const seen: string[] = []
    const epoch = await ledger.rights.raiseEpoch(item)
    const terms = await ledger.rights.snapshot(item, epoch, async page => void seen.push(...page.map(one => one.order)))
    expect(terms).toMatchObject({ available: 8, held: 2, buyers: 6 })
    expect(seen).toEqual(asks.map(ask => ask.order))
    expect(await ledger.rights.setDoor(item, epoch, 'gate')).toBe(true)
    expect(await whereabouts(sale, item)).toEqual({ archive: null, hot: 6, archived: 0, payments: [3, 0] })
    const again = await ledger.orders.place(item, epoch, false, [ledger.ask(asks[0]!.buyer), ledger.ask('late')])
    expect(again).toMatchObject({ placings: [{ verdict: 'refused' }, { verdict: 'placed' }] })

    const other = await archived()
    await ledger.sql("UPDATE sales SET state = 'ready', closes_at = now() + interval '1 hour' WHERE id = $1", [
      other.sale,
    ])
    const raised = await ledger.rights.raiseEpoch(other.item)
    expect(await ledger.rights.setDoor(other.item, raised, 'ledger')).toBe(true)
    const direct = await ledger.orders.placeDirectly(other.item, raised, [ledger.ask(other.asks[3]!.buyer)])
    expect(direct).toMatchObject({
      placings: [{ verdict: 'same', order: { id: other.orders[3], reason: 'cancelled' } }],
    })
  })
})
