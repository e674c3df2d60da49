import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { openLocalShop } from '../../../test/harness/local-shop.ts'
import { systemClock } from '../../base/clock.ts'
import { repeatOrder } from './repeat-order.ts'

const ledger = ledgerForFile()
const askOf = (buyer: string) => ({ ...ledger.ask(buyer), askedAtMs: systemClock.now() })

test('after a restart, before the gate is built, a buyer with an order gets it, whatever refuses everybody else', async () => {
  const { item, sale } = await ledger.openItem()
  const before = openLocalShop(ledger)
  await before.round()
  expect((await before.liveItem(item).seller.sell([askOf('ann')]))[0]?.kind).toBe('placed')
  await ledger.sales.move(sale, ['ready'], 'paused', 'test', 'sale.pause')

  const restarted = openLocalShop(ledger)
  await restarted.following.round()
  const live = restarted.liveItem(item)
  expect(live.seller.standing()?.kind).toBe('paused')
  expect(live.seller.knows('ann')).toBe(true)
  expect((await repeatOrder(restarted.context, live, item, 'ann', 1))?.kind).toBe('same')
  await restarted.round()
  expect(restarted.liveItem(item).seller.knows('eve')).toBe(false)
})

test('a process that lost the lead does not deny what the new leader has sold', async () => {
  const { item, sale } = await ledger.openItem()
  const lost = openLocalShop(ledger)
  await lost.round()
  lost.lead.held = false
  for (const live of lost.registry.values()) lost.withdraw(live)
  const leader = openLocalShop(ledger)
  await leader.round()
  expect((await leader.liveItem(item).seller.sell([askOf('bob')]))[0]?.kind).toBe('placed')
  await ledger.sales.move(sale, ['ready'], 'over', 'test', 'sale.end')
  await lost.following.round()
  const live = lost.liveItem(item)
  expect(live.seller.knows('bob')).toBe(true)
  expect((await repeatOrder(lost.context, live, item, 'bob', 1))?.kind).toBe('same')
})

test('with the lead regained nothing is refused by a gate whose epoch the ledger has not shown since', async () => {
  const { item } = await ledger.openItem({ units: 1 })
  let answered: Promise<void> = Promise.resolve()
  const sales = {
    ...ledger.sales,
    async followed() {
      await answered
      return ledger.sales.followed()
    },
  }
  const shop = openLocalShop({ ...ledger, sales })
  await shop.round()
  const standing = () => shop.liveItem(item).seller.standing()?.kind
  expect((await shop.liveItem(item).seller.sell([askOf('ann')]))[0]?.kind).toBe('placed')
  expect(standing()).toBe('sold_out')
  shop.lead.held = false
  for (const live of shop.registry.values()) shop.withdraw(live)
  expect(standing()).toBe('busy')
  // Another process took the item and its unit came back there; the lead returns while the ledger is slow.
  await ledger.rights.raiseEpoch(item)
  const slow = Promise.withResolvers<void>()
  answered = slow.promise
  shop.lead.held = true
  await shop.following.round()
  expect(standing()).toBe('busy')
  slow.resolve()
})

test("an operator's move at a process that does not lead is done when the ledger has it", async () => {
  const { sale } = await ledger.openItem()
  const leader = openLocalShop(ledger)
  await leader.round()
  const standby = openLocalShop(ledger)
  standby.lead.held = false
  await ledger.sales.move(sale, ['ready'], 'paused', 'test', 'sale.pause')
  expect(await standby.syncState(sale, false)).toBe(true)
  expect(await standby.syncState(sale, true)).toBe(false)
})

test("an item that a cluster left behind the ledger's door is on sale after the first round", async () => {
  const { item } = await ledger.openItem()
  await ledger.rights.setDoor(item, await ledger.rights.raiseEpoch(item), 'ledger')
  const shop = openLocalShop(ledger)
  await shop.round()
  expect(shop.liveItem(item)).toMatchObject({ door: 'gate', current: true })
})
