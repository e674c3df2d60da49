import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { openLocalShop } from '../../../test/harness/local-shop.ts'
import type { ItemWish } from '../../../test/harness/money-ledger.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import type { Ask } from '../../gate/gate.ts'
import { releaseUnits } from '../money/release-units.ts'

/** The gate controller of a process that sells alone. */

const ledger = ledgerForFile()

/** No other sale is followed any more: every test has the controller for itself. */
async function openItem(wish: ItemWish = {}) {
  await ledger.sql("UPDATE sales SET state = 'over'")
  return ledger.openItem(wish)
}

const askOf = (buyer: string): Ask => ({ ...ledger.ask(buyer), askedAtMs: systemClock.now() })
const doorOf = async (item: string) => (await ledger.sql('SELECT door FROM items WHERE id = $1', [item]))[0]?.door

test('a sale that ends while its gate is being rebuilt leaves no door draining, and no release stuck', async () => {
  const { item, sale } = await openItem({ payWithinMs: 1 })
  let away = false
  const shop = openLocalShop(ledger, {
    rights: real => ({
      ...real,
      snapshot: (...args) => (away ? Promise.reject(new Fault('ledger_away', 'away')) : real.snapshot(...args)),
    }),
  })
  await shop.round()
  const ask = askOf('ann')
  await shop.liveItem(item).seller.sell([ask])
  // The item has to be built anew, the ledger fails in the middle of that, and then the sale is over.
  await ledger.rights.raiseEpoch(item)
  away = true
  await shop.round()
  expect(await doorOf(item)).toBe('draining')
  await ledger.sales.move(sale, ['ready'], 'over', 'test', 'sale.end')
  away = false
  await shop.round()
  await shop.round()

  await until('the order is due', async () =>
    (await ledger.closings.due(500, [], [])).some(due => due.id === ask.order),
  )
  await ledger.closings.close(item, [ask.order], 'unpaid')
  const release = {
    gate: shop.gate,
    closings: ledger.closings,
    random: { ...systemRandom, next: () => 0 },
    onReleased() {},
  }
  for (let i = 0; i < 5; i++) await releaseUnits(release)
  expect(await doorOf(item)).toBe('shut')
  expect(await ledger.units(sale)).toMatchObject({ available: 10, releases: 0 })
  expect(await ledger.reconciliation.toSettle('0', 1_000)).toContain(sale)
})

test('clocks that disagree keep an item from being sold from its very first moment on', async () => {
  const { item } = await openItem()
  await ledger.sql(
    "UPDATE sales SET opens_at = now() + interval '30 minutes', warm_before_ms = 3600000 WHERE state = 'ready'",
  )
  const shop = openLocalShop(ledger, { aheadMs: 3_000_000 })
  await shop.round()
  expect(shop.liveItem(item).seller.standing()?.kind).toBe('busy')
})

test('an item whose row is locked does not keep the controller from the others', async () => {
  const stuck = await openItem()
  const other = await ledger.openItem()
  const shop = openLocalShop(ledger, {
    rights: real => ({
      ...real,
      raiseEpoch: item =>
        item === stuck.item ? Promise.reject(new Fault('ledger_away', 'its row is locked')) : real.raiseEpoch(item),
    }),
  })
  await shop.round().catch(() => {})
  expect(shop.registry.get(other.item)?.current).toBe(true)
})

test('a process that loses the lead sells nothing until it leads again, and then each unit once', async () => {
  const { item, sale } = await openItem({ units: 2 })
  const shop = openLocalShop(ledger)
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

test('a process that loses the lead goes on under the same epoch when no other process took the item meanwhile', async () => {
  const { item } = await openItem({ units: 2 })
  const shop = openLocalShop(ledger)
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
