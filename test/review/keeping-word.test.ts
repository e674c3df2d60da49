import { describe, expect, test } from 'bun:test'
import { nextTurn, systemClock } from '../../src/base/clock.ts'
import { Fault } from '../../src/base/fault.ts'
import type { Log } from '../../src/base/log.ts'
import { reconcileSale } from '../../src/flows/check/reconcile.ts'
import { releaseUnits } from '../../src/flows/money/release-units.ts'
import type { Ask } from '../../src/gate/gate.ts'
import { ledgerForFile } from '../harness/flow-stage.ts'
import { openLocalShop } from '../harness/local-shop.ts'
import type { ItemWish } from '../harness/money-ledger.ts'
import { until } from '../harness/until.ts'

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

/** Nobody else's sale is due any more: every test has the keeper for itself. */
async function openItem(wish: ItemWish = {}) {
  await ledger.sql("UPDATE sales SET state = 'over'")
  return ledger.openItem(wish)
}

const askOf = (buyer: string): Ask => ({ ...ledger.ask(buyer), askedAtMs: systemClock.now() })
const doorOf = async (item: string) => (await ledger.sql('SELECT door FROM items WHERE id = $1', [item]))[0]?.door
const saleOf = async (id: string) => (await ledger.sales.find(id))!

describe('a refusal whose answer was lost', () => {
  test('is still a refusal when the ledger is asked again: not a 201, and the unit goes back to the gate', async () => {
    const { item, sale } = await openItem({ units: 1 })
    // What `Database.run` does when the first answer is lost between COMMIT and its arrival: the same statement again.
    const shop = openShop({
      orders: real => ({
        ...real,
        async place(...args) {
          await real.place(...args)
          return real.place(...args)
        },
      }),
    })
    await shop.round()
    // The ledger has less than the gate: somebody else took it.
    await ledger.sql('UPDATE items SET available = 0, units = 0 WHERE id = $1', [item])
    const [decision] = await shop.liveItem(item).seller.sell([askOf('ann')])
    expect(decision?.kind).toBe('sold_out')
    expect(shop.view.statusNow(item)).toMatchObject({ left: 1, held: 0 })
    expect(shop.alarms).toEqual(['ledger_refused'])
    expect(await ledger.units(sale)).toMatchObject({ available: 0, pending: 0 })
  })
})

describe('reconciliation', () => {
  test('touches nothing while a sale runs hot and all is well', async () => {
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
        // Even if nobody sells: the others must have their turn.
        await new Promise<void>(nextTurn)
      }
    })()
    await until('the crowd is buying', () => sold > 2_000)
    const report = await reconcileSale(shop.reconcile, await saleOf(sale))
    selling = false
    await crowd
    expect(report).toEqual({ differences: [], repairs: [] })
    expect(shop.registry.get(item)).toBe(leader)
  }, 60_000)

  test('a captured payment whose order is not paid is mended although the buyer has begun another payment', async () => {
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

  test('says "rebuilt" of a gate only when it was built anew, also when the sale is over', async () => {
    const { item, sale } = await openItem()
    const shop = openShop()
    await shop.round()
    await ledger.sql('UPDATE items SET available = available - 1, units = units - 1 WHERE id = $1', [item])
    await ledger.sales.move(sale, ['ready'], 'over', 'test', 'sale.end')
    await shop.round()
    await reconcileSale(shop.reconcile, await saleOf(sale))
    // Whatever the gate was mended by, it does not show the wrong number any more.
    expect([undefined, 9]).toContain(shop.view.statusNow(item)?.left)
  })

  test('of a sale that took more than a number can hold exactly is still read', async () => {
    const { item, sale } = await openItem({ units: 10_000_000 })
    await ledger.sql(
      `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, paid_at)
       SELECT $2::bigint + i, $1, 'b' || i, 1, 100, 1000000000000, 'CNY', 'paid', 1, now(), now(), now() FROM generate_series(1, 100) i`,
      [item, ledger.id()],
    )
    await ledger.reconciliation.results(sale)
  })
})

describe('a sale that ends while its gate is being rebuilt', () => {
  test('leaves no door ajar, and no release stuck', async () => {
    const { item, sale } = await openItem({ payWithinMs: 1 })
    let away = false
    const shop = openShop({
      rights: real => ({
        ...real,
        snapshot: (...args) => (away ? Promise.reject(new Fault('ledger_away', 'away')) : real.snapshot(...args)),
      }),
    })
    await shop.round()
    const ask = askOf('ann')
    await shop.liveItem(item).seller.sell([ask])
    // The connection that holds the right breaks; on the way back the ledger falters once more, and then the sale is over.
    shop.withdraw(shop.liveItem(item))
    away = true
    await shop.round().catch(() => {})
    await ledger.sales.move(sale, ['ready'], 'over', 'test', 'sale.end')
    away = false
    await shop.round()
    await shop.round()

    await until('the order is due', async () => (await ledger.closings.due(500, [])).some(due => due.id === ask.order))
    await ledger.closings.close(item, [ask.order], 'unpaid')
    const release = {
      gate: shop.gate,
      closings: ledger.closings,
      clock: systemClock,
      log: { error() {} },
      onReleased() {},
    }
    for (let i = 0; i < 5; i++) await releaseUnits(release)
    expect(await doorOf(item)).not.toBe('draining')
    expect(await ledger.units(sale)).toMatchObject({ available: 10, releases: 0 })
    expect(await ledger.reconciliation.toSettle(1_000)).toContain(sale)
  })
})

describe('clocks that disagree', () => {
  test('keep an item from being sold from its very first moment on', async () => {
    const { item } = await openItem()
    await ledger.sql(
      "UPDATE sales SET opens_at = now() + interval '30 minutes', warm_before_ms = 3600000 WHERE state = 'ready'",
    )
    const shop = openShop({ aheadMs: 3_000_000 })
    await shop.round()
    expect(shop.liveItem(item).seller.standing()?.kind).toBe('busy')
  })
})

describe('one item that nobody can touch', () => {
  test('does not keep the keeper from the others', async () => {
    const stuck = await openItem()
    const other = await ledger.openItem()
    const shop = openShop({
      rights: real => ({
        ...real,
        raiseEpoch: item =>
          item === stuck.item ? Promise.reject(new Fault('ledger_away', 'its row is locked')) : real.raiseEpoch(item),
      }),
    })
    await shop.round().catch(() => {})
    expect(shop.registry.get(other.item)?.current).toBe(true)
  })
})

describe('a process that loses the lead', () => {
  test('sells nothing until it leads again, and then what it held is sold once', async () => {
    const { item, sale } = await openItem({ units: 2 })
    const shop = openShop()
    await shop.round()
    const sell = async (buyer: string) => (await shop.liveItem(item).seller.sell([askOf(buyer)]))[0]?.kind
    expect(await sell('ann')).toBe('placed')
    shop.lead.held = false
    for (const live of shop.registry.values()) shop.withdraw(live)
    await shop.round()
    expect(await sell('bob')).toBe('busy')
    // Another epoch is shown while the lead is lost: the entry is replaced, and must come back to life too.
    await ledger.rights.raiseEpoch(item)
    await shop.round()
    expect(await sell('bob')).toBe('busy')
    shop.lead.held = true
    await shop.round()
    expect([await sell('bob'), await sell('cleo')]).toEqual(['placed', 'sold_out'])
    expect(await ledger.units(sale)).toMatchObject({ available: 0, pending: 2 })
  })

  test('goes on under the same epoch when no other process took the item meanwhile', async () => {
    const { item } = await openItem({ units: 2 })
    const shop = openShop()
    await shop.following.round()
    await shop.controller.round()
    await shop.controller.idle()
    // The gate is built and its door is set; the lead is lost before this process has followed it.
    shop.lead.held = false
    await shop.following.round()
    const { epoch, current } = shop.liveItem(item)
    expect(current).toBe(false)
    shop.lead.held = true
    await shop.round()
    expect(shop.liveItem(item)).toMatchObject({ epoch, current: true })
  })
})
