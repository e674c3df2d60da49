import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { openLocalShop } from '../../../test/harness/local-shop.ts'
import type { ItemWish } from '../../../test/harness/money-ledger.ts'
import { systemClock } from '../../base/clock.ts'
import type { Ask } from '../../gate/gate.ts'

const ledger = ledgerForFile()

/** No other sale is followed any more: every test has the controller for itself. */
async function openItem(wish: ItemWish = {}) {
  await ledger.sql("UPDATE sales SET state = 'over'")
  return ledger.openItem(wish)
}

const askOf = (buyer: string): Ask => ({ ...ledger.ask(buyer), askedAtMs: systemClock.now() })

test('a refusal whose answer was lost is still a refusal when the ledger is asked again: not a 201, and the unit goes back to the gate', async () => {
  const { item, sale } = await openItem({ units: 1 })
  // What `Database.run` does when the first answer is lost between COMMIT and its arrival: the same statement again.
  const shop = openLocalShop(ledger, {
    orders: real => ({
      ...real,
      async place(...args) {
        await real.place(...args)
        return real.place(...args)
      },
    }),
  })
  await shop.round()
  // The ledger has less than the gate.
  await ledger.sql('UPDATE items SET available = 0, units = 0 WHERE id = $1', [item])
  const [decision] = await shop.liveItem(item).seller.sell([askOf('ann')])
  expect(decision?.kind).toBe('sold_out')
  expect(shop.view.statusNow(item)).toMatchObject({ left: 1, held: 0 })
  expect(shop.alarms).toEqual(['ledger_refused'])
  expect(await ledger.units(sale)).toMatchObject({ available: 0, pending: 0 })
})
