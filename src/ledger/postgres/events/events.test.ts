import { describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../../test/harness/flow-stage.ts'
import { createArchive } from '../archive.ts'
import { readerOf } from './events.fixture.ts'

const ledger = ledgerForFile()
const { numberAll, readAll, told, selling } = readerOf(ledger)
const DAY_MS = 86_400_000

const rowsOf = async (item: string) =>
  ledger.sql('SELECT type, count FROM events WHERE $1 = ANY (items) ORDER BY id', [item])

async function pay(order: string): Promise<void> {
  const payment = await ledger.payments.start(ledger.id(), order, 'house')
  await ledger.payments.capture('house', payment!.ref, payment!.amount, 1_700_000_000_000)
}

describe('what is written', () => {
  test('a batch of orders is one row, whose events are as many as its orders', async () => {
    const on = await selling({ units: 700 })
    const asks = Array.from({ length: 500 }, (_, i) => ledger.ask(`buyer-${i}`))
    await ledger.orders.place(on.item, on.epoch, false, asks)
    expect(await rowsOf(on.item)).toEqual([{ type: 'order.placed', count: 500 }])
    await numberAll()
    const events = await readAll(on.since, 77)
    expect(events.map(event => 'order' in event && event.order.id)).toEqual(asks.map(ask => ask.order))
    expect(events.map(event => event.number)).toEqual(events.map((_, i) => on.since + 1 + i))
    expect(events[3]).toMatchObject({
      type: 'order.placed',
      order: { buyer: 'buyer-3', sale: on.sale, quantity: 1, state: 'pending', price: { amount: 1_000 } },
    })
  })

  test('batches that several items place together are one row', async () => {
    const since = await numberAll()
    const items = await Promise.all(Array.from({ length: 5 }, () => ledger.openItem()))
    const asks = items.map(() => [ledger.ask('ann'), ledger.ask('ben')])
    await Promise.all(items.map(({ item, epoch }, i) => ledger.orders.place(item, epoch, false, asks[i]!)))
    await numberAll()
    const events = (await readAll(since)).flatMap(event => ('order' in event ? [event.order] : []))
    for (const [i, { item }] of items.entries())
      expect(events.filter(order => order.item === item).map(order => order.id)).toEqual(asks[i]!.map(ask => ask.order))
    const rows = await ledger.sql(`SELECT cardinality(items) AS items FROM events WHERE first > $1`, [since])
    expect(rows.length).toBeLessThan(items.length)
  })

  test('placing again, or under an old epoch, tells nothing again', async () => {
    const on = await selling()
    const ask = ledger.ask('ann')
    await ledger.orders.place(on.item, on.epoch, false, [ask])
    await ledger.orders.place(on.item, on.epoch, false, [ask])
    await ledger.orders.place(on.item, on.epoch - 1, false, [ledger.ask('ben')])
    expect(await told(on.since, on)).toEqual([`order.placed ${ask.order}`])
  })

  test('a batch with a refusal tells of both, each under its own type', async () => {
    const on = await selling({ units: 1 })
    const [first, second] = [ledger.ask('ann'), ledger.ask('ben')]
    await ledger.orders.place(on.item, on.epoch, true, [first, second])
    expect(await told(on.since, on)).toEqual([
      `order.placed ${first.order}`,
      'item.sold_out',
      `order.closed ${second.order}`,
    ])
    const last = (await readAll(on.since)).at(-1)
    expect(last).toMatchObject({ order: { state: 'closed', reason: 'refused' } })
  })

  test('a reservation that is refused for a reason of its own is told once', async () => {
    const on = await selling()
    const ask = ledger.ask('ann')
    await ledger.orders.refuse(on.item, on.epoch, ask)
    await ledger.orders.refuse(on.item, on.epoch, ask)
    expect(await told(on.since, on)).toEqual([`order.closed ${ask.order}`])
  })

  test('orders behind the ledger door are told of too, with the sold out', async () => {
    const on = await selling({ units: 2 })
    const epoch = await ledger.rights.raiseEpoch(on.item)
    await ledger.sql("UPDATE items SET door = 'ledger' WHERE id = $1", [on.item])
    const [ann, ben] = [ledger.ask('ann'), ledger.ask('ben')]
    await ledger.orders.placeDirectly(on.item, epoch, [ann])
    // The second ask collides: it is looked at alone.
    await ledger.orders.placeDirectly(on.item, epoch, [{ ...ledger.ask('ann') }, ben])
    expect(await told(on.since, on)).toEqual([
      `order.placed ${ann.order}`,
      `order.placed ${ben.order}`,
      'item.sold_out',
    ])
  })

  test('sold out and back take turns, whatever changes the stock', async () => {
    const on = await selling({ units: 2 })
    const [ann, ben, cyd] = [ledger.ask('ann'), ledger.ask('ben'), ledger.ask('cyd')]
    await ledger.orders.place(on.item, on.epoch, false, [ann])
    await ledger.orders.place(on.item, on.epoch, false, [ben])
    await pay(ann.order)
    await ledger.closings.refund(ann.order, on.item, true, 'op')
    await ledger.closings.close(on.item, [ben.order], 'cancelled')
    await ledger.orders.place(on.item, on.epoch, false, [{ ...cyd, quantity: 2 }])
    await ledger.stock.ask({ item: on.item, delta: 3, reason: 'more', by: 'op', key: undefined })
    expect(await told(on.since, on)).toEqual([
      `order.placed ${ann.order}`,
      `order.placed ${ben.order}`,
      'item.sold_out',
      `order.paid ${ann.order}`,
      'item.back',
      'payment.refund_due',
      `order.refunded ${ann.order}`,
      `order.closed ${ben.order}`,
      `order.placed ${cyd.order}`,
      'item.sold_out',
      'item.back',
    ])
  })

  test('stock that is taken away and given back before the opening is told as sold out, and as back', async () => {
    const on = await selling({ units: 2 })
    await ledger.sql(
      "WITH s AS (UPDATE sales SET opens_at = clock_timestamp() + interval '1 minute' WHERE id = $2) UPDATE items SET door = 'shut' WHERE id = $1",
      [on.item, on.sale],
    )
    for (const delta of [-2, 3])
      await ledger.stock.ask({ item: on.item, delta, reason: 'recount', by: 'op', key: undefined })
    expect(await told(on.since, on)).toEqual(['item.sold_out', 'item.back'])
  })

  test('an event shows the order as it was then, not as it became', async () => {
    const on = await selling()
    const ask = ledger.ask('ann', 2)
    await ledger.orders.place(on.item, on.epoch, false, [ask])
    await pay(ask.order)
    await ledger.closings.refund(ask.order, on.item, false, 'op')
    await numberAll()
    const events = (await readAll(on.since)).flatMap(event => ('order' in event ? [event] : []))
    const shown = events.map(({ type, order }) => [
      type,
      order.state,
      order.reason,
      order.version,
      order.paidAtMs !== undefined,
      order.closedAtMs !== undefined,
    ])
    expect(shown).toEqual([
      ['order.placed', 'pending', undefined, 1, false, false],
      ['order.paid', 'paid', undefined, 2, true, false],
      ['order.refunded', 'closed', 'refunded', 3, true, true],
    ])
  })

  test('units that come back after the end are not on sale again', async () => {
    const on = await selling({ units: 1 })
    const ask = ledger.ask('ann')
    await ledger.orders.place(on.item, on.epoch, false, [ask])
    await ledger.sql("UPDATE sales SET closes_at = clock_timestamp() - interval '1 millisecond' WHERE id = $1", [
      on.sale,
    ])
    await ledger.closings.close(on.item, [ask.order], 'cancelled')
    expect(await told(on.since, on)).toEqual([
      `order.placed ${ask.order}`,
      'item.sold_out',
      `order.closed ${ask.order}`,
    ])
  })

  test('money that reconciliation finds pays the order, and is told', async () => {
    const on = await selling()
    const ask = ledger.ask('ann')
    await ledger.orders.place(on.item, on.epoch, false, [ask])
    const payment = await ledger.payments.start(ledger.id(), ask.order, 'house')
    await ledger.sql("UPDATE payments SET state = 'captured' WHERE id = $1", [payment!.id])
    expect(await ledger.payments.decideCapture(payment!.id)).toBe('paid')
    expect(await told(on.since, on)).toEqual([`order.placed ${ask.order}`, `order.paid ${ask.order}`])
  })

  test('money that comes too late has to go back, and is told once', async () => {
    const on = await selling()
    const ask = ledger.ask('ann')
    await ledger.orders.place(on.item, on.epoch, false, [ask])
    const payment = await ledger.payments.start(ledger.id(), ask.order, 'house')
    await ledger.closings.close(on.item, [ask.order], 'cancelled')
    for (let twice = 0; twice < 2; twice++)
      await ledger.payments.capture('house', payment!.ref, payment!.amount, 1_700_000_000_000)
    expect((await told(on.since, on)).slice(2)).toEqual(['payment.refund_due'])
    const { id, ref, amount } = payment!
    expect((await readAll(on.since)).at(-1)).toMatchObject({
      sale: on.sale,
      payment: { id, ref, amount, order: ask.order, item: on.item, provider: 'house', why: 'late' },
    })
  })

  test('a change that is rolled back tells nothing', async () => {
    const on = await selling()
    const [ask] = [ledger.ask('ann')]
    const call = [on.item, on.epoch, false, [ask.order], ['ann'], [1], [1], ['0']]
    await ledger.database.undone(async run => void (await run('place', call)))
    expect(await told(on.since, on)).toEqual([])
  })

  test('a connection with events off writes none', async () => {
    const on = await selling({ units: 1 })
    const silent = ledger.connect(undefined, undefined, false)
    try {
      const call = [on.item, on.epoch, false, [ledger.id()], ['ann'], [1], [1], ['0']]
      expect(await silent.run('place', call)).toMatchObject([{ status: 'ok', available: 0 }])
    } finally {
      await silent.close()
    }
    expect(await told(on.since, on)).toEqual([])
  })
})

describe('what is written once', () => {
  test('a sale has opened when its window has begun and it is not paused', async () => {
    const on = await selling()
    await ledger.sql("UPDATE sales SET state = 'paused' WHERE id = $1", [on.sale])
    expect(await ledger.events.noteOpened(100)).not.toContain(on.sale)
    await ledger.sql("UPDATE sales SET state = 'ready' WHERE id = $1", [on.sale])
    const both = await Promise.all([ledger.events.noteOpened(100), ledger.events.noteOpened(100)])
    expect(both.flat().filter(sale => sale === on.sale)).toEqual([on.sale])
    expect(await ledger.events.noteOpened(100)).toEqual([])
    expect(await told(on.since, on)).toEqual(['sale.opened'])
    expect((await readAll(on.since)).at(-1)).toMatchObject({ sale: on.sale, name: 'sale' })
  })

  test('a sale that is to come has not opened', async () => {
    const on = await selling()
    await ledger.sql("UPDATE sales SET opens_at = clock_timestamp() + interval '1 minute' WHERE id = $1", [on.sale])
    expect(await ledger.events.noteOpened(100)).not.toContain(on.sale)
  })

  test('the final report is the end of the sale, with its results', async () => {
    const on = await selling()
    const results = [{ item: on.item, orders: 3, revenue: { amount: 5, currency: 'CNY' } }]
    await ledger.reconciliation.save(on.sale, 'automatic', { differences: [], repairs: [] })
    await ledger.reconciliation.save(on.sale, 'final', { differences: [], repairs: [] }, { results })
    await ledger.reconciliation.save(on.sale, 'final', { differences: [], repairs: [] }, { results })
    await numberAll()
    const over = (await readAll(on.since)).filter(event => event.type === 'sale.over')
    expect(over).toMatchObject([{ sale: on.sale, results }])
  })

  test('an order is closing soon once, with all that were placed with it; one that has little time from the start never', async () => {
    const on = await selling({ payWithinMs: 600_000 })
    const brief = await ledger.openItem({ payWithinMs: 119_000 })
    const asks = Array.from({ length: 5 }, (_, i) => ledger.ask(`buyer-${i}`))
    await ledger.orders.place(on.item, on.epoch, false, asks)
    await ledger.orders.place(brief.item, brief.epoch, false, [ledger.ask('zoe')])
    expect(await ledger.events.noteClosingSoon(60_000, 2)).toBe(0)
    await ledger.closings.close(on.item, [asks[4]!.order], 'cancelled')
    await ledger.sql("UPDATE orders SET pay_by = clock_timestamp() + interval '50 seconds' WHERE item = $1", [on.item])
    await ledger.sql("UPDATE orders SET placed_at = placed_at - interval '10 minutes' WHERE item = $1", [on.item])
    // Two at once: the one that waits for the other's lock finds nothing left.
    const [one, other] = await Promise.all([
      ledger.events.noteClosingSoon(60_000, 2),
      ledger.events.noteClosingSoon(60_000, 2),
    ])
    expect(one + other).toBe(4)
    expect(await ledger.events.noteClosingSoon(60_000, 2)).toBe(0)
    await numberAll()
    const soon = (await readAll(on.since)).filter(event => event.type === 'order.closing_soon')
    expect(soon.map(event => 'order' in event && event.order.id)).toEqual(asks.slice(0, 4).map(ask => ask.order))
    expect(soon[0]).toMatchObject({ order: { state: 'pending', item: on.item } })
  })

  test('orders with little time to pay are looked at once, and keep none behind them from being told', async () => {
    const lookAll = async () => {
      let looked = 0
      for (let page = 1; page > 0; looked += page) page = await ledger.events.noteClosingSoon(60_000, 2)
      return looked
    }
    await lookAll()
    const on = await selling({ payWithinMs: 600_000 })
    const brief = await ledger.openItem({ payWithinMs: 119_000 })
    const asks = ['ann', 'ben', 'cyd', 'dan'].map(buyer => ledger.ask(buyer))
    const [last] = [ledger.ask('zoe')]
    await ledger.orders.place(brief.item, brief.epoch, false, asks)
    await ledger.orders.place(on.item, on.epoch, false, [last])
    // One after the other, up to the end of the minute; the one that is told ends last.
    const ends = "clock_timestamp() + interval '59 seconds' + $2 * interval '1 millisecond'"
    for (const [i, { order }] of asks.entries())
      await ledger.sql(`UPDATE orders SET pay_by = ${ends} WHERE id = $1`, [order, i])
    await ledger.sql(
      `UPDATE orders SET pay_by = ${ends}, placed_at = placed_at - interval '10 minutes' WHERE id = $1`,
      [last.order, 500],
    )
    expect(await lookAll()).toBe(5)
    expect(await lookAll()).toBe(0)
    await numberAll()
    const soon = (await readAll(on.since)).filter(event => event.type === 'order.closing_soon')
    expect(soon.map(event => 'order' in event && event.order.id)).toEqual([last.order])
  })
})

describe('what is kept', () => {
  test('what is swept is the oldest, and a cursor behind it has expired', async () => {
    const on = await selling()
    for (const buyer of ['ann', 'ben', 'cyd']) await ledger.orders.place(on.item, on.epoch, false, [ledger.ask(buyer)])
    await numberAll()
    const [first, second] = await readAll(on.since)
    await ledger.sql("UPDATE events SET at = at - interval '8 days' WHERE first <= $1", [second!.number])
    for (let rows = 1; rows > 0; ) rows = await ledger.events.sweep(7 * DAY_MS, 2)
    const page = await ledger.events.read(second!.number, 10)
    expect(page).toMatchObject({ expired: false, oldest: second!.number + 1 })
    expect(page.events).toHaveLength(1)
    expect(await ledger.events.read(first!.number, 10)).toMatchObject({
      expired: true,
      events: [],
      oldest: second!.number + 1,
    })
    expect(await ledger.events.ends()).toEqual({ oldest: page.oldest, newest: page.newest, waitingMs: 0 })
  })

  test('a cursor at the end, or beyond it, gets nothing', async () => {
    const newest = await numberAll()
    expect(await ledger.events.read(newest, 10)).toMatchObject({ events: [], last: newest, expired: false })
    expect(await ledger.events.read(newest + 5, 10)).toMatchObject({ events: [], last: newest + 5, expired: false })
  })

  test('an erased buyer is erased in the events, wherever the order is; a deleted sale has none', async () => {
    const on = await selling()
    const archive = createArchive(ledger.database, false)
    const ask = ledger.ask('ann-to-be-erased')
    await ledger.orders.place(on.item, on.epoch, false, [ask])
    await ledger.closings.close(on.item, [ask.order], 'cancelled')
    await ledger.sql("UPDATE sales SET state = 'over' WHERE id = $1", [on.sale])
    await ledger.reconciliation.save(on.sale, 'final', { differences: [], repairs: [] }, { results: [] })
    await ledger.sql("UPDATE items SET door = 'shut' WHERE id = $1", [on.item])
    await ledger.closings.releaseIdle()
    expect(await archive.move(on.item, '0', 100)).toMatchObject({ moved: 1 })
    await numberAll()
    const buyers = async () => (await readAll(on.since)).flatMap(event => ('order' in event ? [event.order.buyer] : []))
    expect(await buyers()).toEqual(['ann-to-be-erased', 'ann-to-be-erased'])
    await archive.erase('ann-to-be-erased', 'op', false)
    expect(await buyers()).toEqual([`erased:${ask.order}`, `erased:${ask.order}`])
    const [{ n } = {}] = await ledger.sql(
      `SELECT count(*)::int AS n FROM events WHERE events::text LIKE '%to-be-erased%'`,
    )
    expect(n).toBe(0)
    expect(await archive.deleteSale(on.sale, 0, 'op')).toBe(true)
    expect(await readAll(on.since)).toEqual([])
  })
})
