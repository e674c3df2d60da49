import { describe, expect, test } from 'bun:test'
import { bareLiveItem } from '../../../test/harness/bare-live-item.ts'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { auditItems } from '../check/audit-sale.ts'
import { createGateView } from '../check/gate-view.ts'
import { reconcileSale } from '../check/reconcile.ts'
import { createPlacedCheck, createSaleSettler } from '../check/settle-over-sales.ts'
import { openLedgerDoor } from '../operate/run-sale.ts'
import type { Registry } from '../sell/live-item.ts'
import { createForgetSales } from './forget-sales.ts'
import { createSyncState } from './sync-state.ts'

type ReconcileContext = Parameters<typeof reconcileSale>[0]

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** Sales of other tests are settled too. */
const onlyOf = (sale: string): Pick<typeof ledger.reconciliation, 'toForget' | 'audit'> => ({
  audit: id => ledger.reconciliation.audit(id),
  toForget: async (...page) => (await ledger.reconciliation.toForget(...page)).filter(one => one.sale === sale),
})

async function openItem(units = 10) {
  const { sale: id, item } = await stage.fresh({ units })
  const keeper = stage.keeper()
  const { epoch } = await keeper.untilDoor(item, 'gate')
  const sale = await ledger.sales.find(id)
  if (sale === undefined) throw new Error('there is no sale')
  return { sale, item, epoch, keeper }
}

async function reserve(item: string, epoch: number, buyer: string) {
  const ask = stage.ask(buyer)
  expect(await stage.gate.reserve(item, epoch, [ask])).toMatchObject({ answers: [{ code: 'reserved' }] })
  return ask.order
}

const auditParts = () => ({
  orders: ledger.orders,
  reconciliation: ledger.reconciliation,
  view: createGateView(stage.gate, stage.outbox, new Map()),
  clock: systemClock,
})

/** The keeper's shelf, as following makes it. */
async function registryOf(saleId: string): Promise<Registry> {
  const sale = await ledger.sales.find(saleId)
  const registry: Registry = new Map()
  for (const item of sale?.items ?? []) {
    registry.set(item.id, Object.assign(bareLiveItem(sale!, item), { current: true }))
  }
  return registry
}

async function reconcileParts(sale: string): Promise<ReconcileContext & { readonly rebuilt: string[] }> {
  const rebuilt: string[] = []
  return {
    ...auditParts(),
    gate: stage.gate,
    books: stage.books,
    outbox: stage.outbox,
    payments: ledger.payments,
    onPaid() {},
    onRefundDue() {},
    registry: await registryOf(sale),
    log: quiet,
    async rebuild(item) {
      rebuilt.push(item)
      await ledger.rights.raiseEpoch(item)
      return 'rebuilding'
    },
    onDifferences() {},
    onBroken() {},
    rebuilt,
  }
}

describe('the audit of a gate elsewhere', () => {
  test('counts what waits in the outbox on both sides', async () => {
    const { sale, item, epoch } = await openItem()
    await reserve(item, epoch, 'ann')
    expect(await auditItems(auditParts(), sale)).toMatchObject([
      { available: 10, pending: 0, gate: { left: 9, held: 1 }, outbox: 1, consistent: true, changing: true },
    ])
    await stage.worker('w', item).work()
    expect(await auditItems(auditParts(), sale)).toMatchObject([
      { available: 9, pending: 1, gate: { left: 9, held: 1 }, outbox: 0, consistent: true, changing: false },
    ])
  })

  test('finds a unit that is nowhere', async () => {
    const { sale, item, epoch } = await openItem()
    await reserve(item, epoch, 'ann')
    stage.entries.clear()
    expect(await auditItems(auditParts(), sale)).toMatchObject([{ consistent: false, gateAgrees: false }])
  })

  test('judges the ledger alone while the gate is away, or does not sell', async () => {
    const { sale, item, epoch } = await openItem()
    await reserve(item, epoch, 'ann')
    stage.server.away = true
    expect(await auditItems(auditParts(), sale)).toMatchObject([{ gate: undefined, consistent: true }])
    stage.server.away = false
    stage.entries.clear()
    // A gate that came back and still shows the item does not sell behind these doors.
    await ledger.rights.setDoor(item, epoch, 'ledger')
    expect(await auditItems(auditParts(), sale)).toMatchObject([{ gate: undefined, door: 'ledger', consistent: true }])
  })
})

describe('reconciliation of a gate elsewhere', () => {
  test('touches nothing while a reservation waits in the outbox', async () => {
    const { sale, item, epoch } = await openItem()
    await reserve(item, epoch, 'ann')
    expect(await reconcileSale(await reconcileParts(sale.id), sale)).toEqual({ differences: [], repairs: [] })
    expect((await stage.gate.status([item])).items).toMatchObject([{ left: 9, held: 1 }])
  })

  test('what is in the gate and in neither ledger nor outbox is placed as acknowledged, never released', async () => {
    const { sale, item, epoch } = await openItem()
    const order = await reserve(item, epoch, 'ann')
    stage.entries.clear()
    const { orders } = ledger
    const acknowledged: boolean[] = []
    const parts = await reconcileParts(sale.id)
    const report = await reconcileSale(
      {
        ...parts,
        orders: {
          ...orders,
          place(id, under, told, asks) {
            acknowledged.push(told)
            return orders.place(id, under, told, asks)
          },
        },
      },
      sale,
    )
    expect(report).toEqual({
      differences: [{ kind: 'reservation_without_order', item, order }],
      repairs: [{ kind: 'placed', item, order }],
    })
    expect(acknowledged).toEqual([true])
    expect(stage.calls).not.toContain('release')
    expect(await ledger.orders.find([order])).toMatchObject([{ state: 'pending', buyer: 'ann' }])
    expect(await auditItems(auditParts(), sale)).toMatchObject([{ consistent: true, changing: false }])
  })

  test('a reservation that is placed between the two looks is no ghost', async () => {
    const { sale, item, epoch } = await openItem()
    const order = await reserve(item, epoch, 'ann')
    const kept = [...(stage.entries.get(item) ?? [])]
    stage.entries.clear()
    const parts = await reconcileParts(sale.id)
    let compared = 0
    const { holdings } = parts.books
    const report = await reconcileSale(
      {
        ...parts,
        books: {
          async *holdings(id, under) {
            yield* holdings(id, under)
            compared += 1
            if (compared === 1) {
              stage.entries.set(item, kept)
              await stage.worker('w', item).work()
            }
          },
        },
      },
      sale,
    )
    expect(report).toEqual({ differences: [], repairs: [] })
    expect(await ledger.orders.find([order])).toMatchObject([{ state: 'pending' }])
  })

  test('only what both looks have seen is a ghost', async () => {
    const { sale, item, epoch } = await openItem()
    const ghost = await reserve(item, epoch, 'ann')
    stage.entries.clear()
    const slow = await reserve(item, epoch, 'ben')
    const kept = [...(stage.entries.get(item) ?? [])]
    stage.entries.clear()
    const parts = await reconcileParts(sale.id)
    let compared = 0
    const orders = {
      ...ledger.orders,
      async find(ids: readonly string[]) {
        const found = await ledger.orders.find(ids)
        compared += 1
        if (compared === 1) {
          stage.entries.set(item, kept)
          await stage.worker('w', item).work()
        }
        return found
      },
    }
    const report = await reconcileSale({ ...parts, orders }, sale)
    expect(report.differences).toEqual([{ kind: 'reservation_without_order', item, order: ghost }])
    expect(await ledger.orders.find([slow])).toMatchObject([{ state: 'pending' }])
  })

  test('an order that the gate does not know has the gate built anew', async () => {
    const { sale, item, epoch, keeper } = await openItem()
    const ask = ledger.ask('ann')
    await ledger.orders.place(item, epoch, true, [ask])
    const parts = await reconcileParts(sale.id)
    const report = await reconcileSale(parts, sale)
    expect(report).toMatchObject({
      differences: [{ kind: 'order_unknown_to_gate', order: ask.order }],
      repairs: [{ kind: 'rebuilding', item }],
    })
    expect(parts.rebuilt).toEqual([item])
    await keeper.untilDoor(item, 'gate')
    expect((await stage.gate.status([item])).items).toMatchObject([{ left: 9, held: 1 }])
  })
})

describe('a sale that is over', () => {
  async function over() {
    const made = await openItem()
    const worker = stage.worker('w', made.item)
    const order = await reserve(made.item, made.epoch, 'ann')
    await ledger.sales.move(made.sale.id, ['ready'], 'over', 'olga', 'sale.end')
    await made.keeper.round()
    const { reconciliation } = ledger
    const { round: settle } = createSaleSettler({
      sales: ledger.sales,
      reconciliation: { ...reconciliation, toSettle: async () => [made.sale.id] },
      reconcile: async sale => reconcileSale(await reconcileParts(sale.id), sale),
      allPlaced: createPlacedCheck(stage.gate, stage.outbox),
      alarm() {},
      clock: systemClock,
      log: quiet,
    })
    const forget = createForgetSales({
      gate: stage.gate,
      outbox: stage.outbox,
      rights: ledger.rights,
      sales: ledger.sales,
      reconciliation: onlyOf(made.sale.id),
      keeper: made.keeper,
      log: quiet,
      maySell: () => made.keeper.right.held,
      afterMs: 0,
    })
    const reports = async () => (await reconciliation.reports(made.sale.id, 5)).filter(report => report.final)
    return { ...made, worker, order, settle, forget, reports }
  }

  test('is not settled while a reservation waits in the outbox, nor while nobody can tell', async () => {
    const { settle, reports, worker } = await over()
    await settle()
    expect(await reports()).toEqual([])
    await worker.work()
    stage.server.away = true
    await settle()
    expect(await reports()).toEqual([])
    stage.server.away = false
    await settle()
    expect(await reports()).toHaveLength(1)
  })

  test('leaves the gate only after its final report, with an empty outbox and nothing on its way back', async () => {
    const { item, order, epoch, settle, forget, worker } = await over()
    const was = stage.forgotten.length
    await forget()
    expect(stage.forgotten.length).toBe(was)
    await worker.work()
    await ledger.closings.close(item, [order], 'cancelled')
    await ledger.closings.released([order])
    await stage.gate.release(item, epoch, [{ order, buyer: 'ann', attempt: 1, outcome: 'closed' }])
    // All is quiet, but nobody has reconciled it for the last time.
    await forget()
    expect(stage.forgotten.length).toBe(was)
    await settle()
    const pending = ledger.ask('ben')
    await ledger.orders.place(item, epoch, true, [pending])
    // Its units may come back.
    await forget()
    expect(stage.forgotten.length).toBe(was)
    await ledger.closings.close(item, [pending.order], 'cancelled')
    await forget()
    expect(stage.forgotten.length).toBe(was)
    await ledger.closings.released([pending.order])
    const late = stage.ask('late')
    stage.put(item, epoch, [{ ...late, reservedAtMs: late.askedAtMs }])
    await forget()
    expect(stage.forgotten.length).toBe(was)
    expect(await stage.rights(item)).toEqual({ item, epoch, door: 'gate' })
    await worker.work()
    await ledger.closings.close(item, [late.order], 'cancelled')
    await ledger.closings.released([late.order])

    await forget()
    expect(stage.forgotten.slice(was)).toEqual([item])
    expect(await stage.rights(item)).toEqual({ item, epoch: epoch + 1, door: 'shut' })
    await forget()
    expect(stage.forgotten.slice(was)).toEqual([item])
  })

  test('an entry that arrives just before the fence is not thrown away', async () => {
    const { sale, item, order, epoch, settle, worker, keeper, reports } = await over()
    await worker.work()
    await settle()
    expect(await reports()).toHaveLength(1)
    await ledger.closings.close(item, [order], 'cancelled')
    await ledger.closings.released([order])
    const was = stage.forgotten.length
    const late = stage.ask('late')
    const forget = createForgetSales({
      gate: {
        async fence(id, own) {
          stage.put(item, epoch, [{ ...late, reservedAtMs: late.askedAtMs }])
          return stage.gate.fence(id, own)
        },
      },
      outbox: stage.outbox,
      rights: ledger.rights,
      sales: ledger.sales,
      reconciliation: onlyOf(sale.id),
      keeper,
      log: quiet,
      maySell: () => true,
      afterMs: 0,
    })
    await forget()
    expect(stage.forgotten.length).toBe(was)
    expect((await stage.outbox.depth([item]))[0]?.entries).toBe(1)
  })
})

describe('an operator on any edge', () => {
  const syncState = (clock: Clock = systemClock) =>
    createSyncState({ sales: ledger.sales, gate: stage.gate, clock, waitMsMax: 3_000, wake() {} })

  test('hears "done" of a pause when the gate shows it', async () => {
    const { sale, item } = await openItem()
    await ledger.sales.move(sale.id, ['ready'], 'paused', 'olga', 'sale.pause')
    // Never out of time, however long the ledger takes.
    expect(await syncState({ ...systemClock, elapsed: () => 0 })(sale.id, false)).toBe(true)
    expect((await stage.gate.status([item])).items).toMatchObject([{ state: 'paused' }])
  })

  test('hears that it is not there yet while the gate is away, unless the ledger sells', async () => {
    const { sale, item, epoch } = await openItem()
    stage.server.away = true
    expect(await syncState()(sale.id, false)).toBe(false)
    await ledger.rights.setDoor(item, epoch, 'ledger')
    expect(await syncState()(sale.id, false)).toBe(true)
  })

  test('does not wait for items that nobody sells, unless they are to be warm', async () => {
    const { sale: id } = await stage.fresh()
    expect(await syncState()(id, false)).toBe(true)
    expect(await syncState()(id, true)).toBe(false)
  })

  test('opens the ledger door of an item that was shut, and of no other', async () => {
    const { sale, item, epoch } = await openItem()
    const parts = { rights: ledger.rights, sales: ledger.sales, changed() {} }
    expect(await openLedgerDoor(parts, sale.id, item, 'olga')).toMatchObject({ kind: 'not_possible' })
    expect(await openLedgerDoor(parts, sale.id, '7', 'olga')).toEqual({ kind: 'missing' })
    await ledger.rights.setDoor(item, epoch, 'shut')
    expect(await openLedgerDoor(parts, sale.id, item, 'olga')).toMatchObject({ kind: 'done' })
    expect(await stage.rights(item)).toEqual({ item, epoch, door: 'ledger' })
    expect(await openLedgerDoor(parts, sale.id, item, 'olga')).toMatchObject({ kind: 'done' })
    const { sale: never, item: unsold } = await stage.fresh()
    expect(await openLedgerDoor(parts, never, unsold, 'olga')).toMatchObject({ kind: 'not_possible' })
  })
})
