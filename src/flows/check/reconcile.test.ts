import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { openLocalShop } from '../../../test/harness/local-shop.ts'
import type { ItemWish } from '../../../test/harness/money-ledger.ts'
import { until } from '../../../test/harness/until.ts'
import { nextTurn, systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Ask } from '../../gate/gate.ts'
import { reconcileSale } from './reconcile.ts'

type ReconcileContext = Parameters<typeof reconcileSale>[0]

const ledger = ledgerForFile()

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** A process that sells alone, and what its reconciliation needs. */
function openShop(wish: Parameters<typeof openLocalShop>[1] = {}) {
  const shop = openLocalShop(ledger, wish)
  const { orders, gate, books, registry, gateView } = shop
  const reconcile: ReconcileContext = {
    orders,
    view: gateView,
    registry,
    clock: systemClock,
    payments: ledger.payments,
    onPaid() {},
    onRefundDue() {},
    gate,
    books,
    outbox: { recount: async () => 0 },
    reconciliation: ledger.reconciliation,
    log: quiet,
    async rebuild(item) {
      await ledger.rights.raiseEpoch(item)
      await shop.round()
      return 'rebuilt'
    },
    onDifferences() {},
    onBroken() {},
  }
  return { ...shop, reconcile }
}

/** No other sale is followed any more: every test has the controller for itself. */
async function openItem(wish: ItemWish = {}) {
  await ledger.sql("UPDATE sales SET state = 'over'")
  return ledger.openItem(wish)
}

const askOf = (buyer: string): Ask => ({ ...ledger.ask(buyer), askedAtMs: systemClock.now() })
const saleOf = async (id: string) => (await ledger.sales.find(id))!

test('reconciliation changes nothing while a sale runs hot and all is well', async () => {
  const { item, sale } = await openItem({ units: 1_000_000 })
  // A sale that has sold a while: reading it all takes longer than a batch.
  await ledger.sql(
    `WITH made AS (
       INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
       SELECT i, $1, 'early-' || i, 1, 1, 1000, 'CNY', 'pending', 1, now(), now(), now() + interval '1 hour'
       FROM generate_series(1, 200000) i RETURNING 1)
     UPDATE items SET available = available - (SELECT count(*) FROM made) WHERE id = $1`,
    [item],
  )
  const shop = openShop()
  await shop.round()
  const leader = shop.registry.get(item)!
  let selling = true
  let sold = 0
  const crowd = (async () => {
    while (selling) {
      const asks = Array.from({ length: 100 }, () => askOf(`buyer-${sold++}`))
      await shop.liveItem(item).seller.sell(asks)
      // Also while every ask is refused, other work must get its turn of the event loop.
      await new Promise<void>(nextTurn)
    }
  })()
  await until('the crowd is buying', () => sold > 2_000)
  const report = await reconcileSale(shop.reconcile, await saleOf(sale))
  selling = false
  await crowd
  expect(report).toEqual({ differences: [], repairs: [] })
  expect(shop.registry.get(item)).toBe(leader)
}, 300_000)

test('a captured payment whose order is not paid is repaired although the buyer has begun another payment', async () => {
  const { item, sale, epoch } = await openItem()
  const ask = ledger.ask('ann')
  await ledger.orders.place(item, epoch, false, [ask])
  const first = (await ledger.payments.start(ledger.id(), ask.order, 'sandbox'))!
  await ledger.payments.capture('sandbox', first.ref, first.amount, systemClock.now())
  await ledger.sql("UPDATE orders SET state = 'pending', paid_at = NULL WHERE id = $1", [ask.order])
  await ledger.payments.start(ledger.id(), ask.order, 'sandbox')

  const report = await reconcileSale(openShop().reconcile, await saleOf(sale))
  expect(report.repairs).toHaveLength(1)
  expect((await ledger.orders.find([ask.order]))[0]?.state).toBe('paid')
})

test('reports "rebuilt" of a gate only when it was built anew, also when the sale is over', async () => {
  const { item, sale } = await openItem()
  const shop = openShop()
  await shop.round()
  await ledger.sql('UPDATE items SET available = available - 1, units = units - 1 WHERE id = $1', [item])
  await ledger.sales.move(sale, ['ready'], 'over', 'test', 'sale.end')
  await shop.round()
  await reconcileSale(shop.reconcile, await saleOf(sale))
  // However the gate was repaired, it does not show the wrong number any more.
  expect([undefined, 9]).toContain(shop.view.statusNow(item)?.left)
})

test('a sale that took more money than a number holds exactly is still read', async () => {
  const { item, sale } = await openItem({ units: 10_000_000 })
  await ledger.sql(
    `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, paid_at)
     SELECT $2::bigint + i, $1, 'b' || i, 1, 100, 1000000000000, 'CNY', 'paid', 1, now(), now(), now() FROM generate_series(1, 100) i`,
    [item, ledger.id()],
  )
  await ledger.reconciliation.results(sale)
})

test('the audit of a sale whose closed orders add up to more than an int is still read', async () => {
  const { item, sale } = await openItem()
  await ledger.sql(
    `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, reason, epoch, reserved_at, placed_at, closed_at)
     SELECT $2::bigint + i, $1, 'c' || i, 1, 100000000, 1, 'CNY', 'closed', 'unpaid', 1, now(), now(), now() FROM generate_series(1, 30) i`,
    [item, ledger.id()],
  )
  expect(await ledger.reconciliation.audit(sale)).toMatchObject([{ closed: 3_000_000_000 }])
})
