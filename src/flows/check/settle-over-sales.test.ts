import { describe, expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { createForgetSales } from '../keep/forget-sales.ts'
import { createPlacedCheck, createSaleSettler } from './settle-over-sales.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

async function openItem() {
  const { sale, item } = await stage.fresh({ units: 10 })
  const keeper = stage.keeper()
  const { epoch } = await keeper.untilDoor(item, 'gate')
  const { reconciliation } = ledger
  const forget = createForgetSales({
    gate: stage.gate,
    outbox: stage.outbox,
    rights: ledger.rights,
    sales: ledger.sales,
    // Sales of other tests are settled too.
    reconciliation: {
      ...reconciliation,
      toForget: async (...page) => (await reconciliation.toForget(...page)).filter(one => one.sale === sale),
    },
    keeper,
    log: quiet,
    maySell: () => true,
    afterMs: 0,
  })
  const alarms: unknown[] = []
  let elapsedMs = 0
  /** The gate hears what the ledger says of the sale: what is missing in two looks is told. */
  const told = async () => {
    for (let i = 0; i < 2; i++) {
      await keeper.round()
      await keeper.idle()
    }
  }
  const settler = createSaleSettler({
    sales: ledger.sales,
    // Sales of other tests are over too.
    reconciliation: {
      ...reconciliation,
      toSettle: async () => (await reconciliation.toSettle('0', 1_000)).filter(id => id === sale),
    },
    reconcile: async () => ({ differences: [], repairs: [] }),
    allPlaced: createPlacedCheck(stage.gate, stage.outbox),
    alarm: (what, fields) => void alarms.push({ what, ...fields }),
    clock: { ...systemClock, elapsed: () => elapsedMs },
    log: quiet,
  })
  return {
    sale,
    item,
    epoch,
    keeper,
    forget,
    settle: settler.round,
    alarms,
    /** So much time passes. */
    pass(ms: number) {
      elapsedMs += ms
    },
    /** As a clock that goes wrong, and is set right, has it: the end is past, and lies ahead again. */
    async ends(when: string) {
      await ledger.sql(
        "UPDATE sales SET opens_at = now() - interval '3 hours', closes_at = now() + $2::interval WHERE id = $1",
        [sale, when],
      )
      await told()
    },
    told,
    finals: async () =>
      (await reconciliation.reports(sale, 20)).filter(report => report.final).map(({ summary }) => summary),
  }
}

async function buyAndCancel({ item }: { item: string }, buyer: string): Promise<void> {
  const { epoch } = await stage.rights(item)
  const order = await stage.reserve(item, epoch, buyer)
  await stage.worker(`worker of ${buyer}`, item).work()
  await ledger.closings.close(item, [order], 'cancelled')
  await stage.gate.release(item, epoch, [{ order, buyer, attempt: 1, outcome: 'closed' }])
  await ledger.closings.released([order])
}

describe('a final report that came too early, by a clock that was wrong,', () => {
  test('is not the last word: at the real end there is another, with what was sold since', async () => {
    const shop = await openItem()
    await shop.ends('-1 second')
    await shop.settle()
    expect(await shop.finals()).toMatchObject([{ results: [{ cancelledOrders: 0 }] }])
    await shop.ends('1 hour')
    await shop.settle()
    expect(await shop.finals()).toEqual([])
    await buyAndCancel(shop, 'ann')
    await shop.ends('-2 hours')
    expect((await ledger.reconciliation.unsettledItems('0', 1_000)).map(({ id }) => id)).toContain(shop.item)
    await shop.settle()
    expect(await shop.finals()).toMatchObject([{ results: [{ cancelledOrders: 1 }] }])
    await shop.settle()
    expect(await shop.finals()).toHaveLength(1)
  })

  test('lets the gate be forgotten once more at the real end', async () => {
    const shop = await openItem()
    const was = stage.forgotten.length
    await shop.ends('-1 second')
    await shop.settle()
    await shop.forget()
    expect(stage.forgotten.slice(was)).toEqual([shop.item])
    await shop.ends('1 hour')
    await shop.settle()
    await shop.forget()
    await shop.keeper.untilDoor(shop.item, 'gate')
    await buyAndCancel(shop, 'ann')
    await shop.ends('-1 second')
    await shop.settle()
    await shop.forget()
    expect(stage.forgotten.slice(was)).toEqual([shop.item, shop.item])
    expect(await stage.rights(shop.item)).toMatchObject({ door: 'shut' })
  })

  test('a sale that an operator has ended before its time is over for good', async () => {
    const shop = await openItem()
    await ledger.sales.move(shop.sale, ['ready'], 'over', 'olga', 'sale.end')
    // The gate has not heard of it: there may still be a reservation.
    await shop.settle()
    expect(await shop.finals()).toEqual([])
    await shop.told()
    await shop.settle()
    await shop.settle()
    expect(await shop.finals()).toHaveLength(1)
  })
})

test('a sale that is over and waits long for unplaced reservations raises an alarm, once', async () => {
  const shop = await openItem()
  const order = await stage.reserve(shop.item, shop.epoch, 'ann')
  await shop.ends('-1 second')
  const rounds = async (count: number) => {
    for (let i = 0; i < count; i++) {
      await shop.settle()
      shop.pass(60_000)
    }
    return shop.alarms
  }
  expect(await rounds(5)).toEqual([])
  stage.server.away = true
  expect(await rounds(5)).toEqual([{ what: 'sale_not_settled', sale: shop.sale, waitedMs: 300_000 }])
  stage.server.away = false
  await stage.worker('w', shop.item).work()
  // An order that can still be paid is nobody's fault; when it was waited for anew, the time is counted anew.
  expect(await rounds(10)).toHaveLength(1)
  expect(await shop.finals()).toEqual([])
  await ledger.closings.close(shop.item, [order], 'cancelled')
  await ledger.sql('DELETE FROM releases WHERE item = $1', [shop.item])
  stage.server.away = true
  expect(await rounds(5)).toHaveLength(1)
  expect(await rounds(1)).toHaveLength(2)
  stage.server.away = false
  expect(await rounds(1)).toHaveLength(2)
  expect(await shop.finals()).toHaveLength(1)
})
