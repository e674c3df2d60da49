import { describe, expect, test } from 'bun:test'
import { bareLiveItem } from '../../../test/harness/bare-live-item.ts'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import type { Outbox } from '../../gate/outbox.ts'
import { auditItems } from './audit-sale.ts'
import { createGateView } from './gate-view.ts'
import { reconcileSale } from './reconcile.ts'

type ReconcileContext = Parameters<typeof reconcileSale>[0]

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

/** A reservation of this item waits in its outbox; the gate answers, and a moment later whoever has the outbox does not. */
async function unseen() {
  const { sale: id, item } = await stage.fresh({ units: 10 })
  const { epoch } = await stage.keeper().untilDoor(item, 'gate')
  await stage.reserve(item, epoch, 'ann')
  const sale = (await ledger.sales.find(id))!
  const outbox: Pick<Outbox, 'status'> = { status: async items => ({ items: [], away: items }) }
  const { orders, reconciliation } = ledger
  return {
    sale,
    item,
    parts: { orders, reconciliation, view: createGateView(stage.gate, outbox, new Map()), clock: systemClock },
  }
}

describe('an outbox that can not be seen is not an empty one', () => {
  test('what is on its way is told of every item that was seen whole, and of no other', async () => {
    const depth = { entries: 1, units: 2, oldestMs: 0, miscounted: 0 }
    const outbox: Pick<Outbox, 'status'> = {
      status: async () => ({
        items: [
          { item: 'whole', ...depth },
          { item: 'empty', ...depth, entries: 0, units: 0 },
          { item: 'in part', ...depth },
        ],
        away: ['in part', 'unseen'],
      }),
    }
    const seen = await createGateView(stage.gate, outbox, new Map()).unplaced(['whole', 'empty', 'in part', 'unseen'])
    expect([...seen]).toEqual([
      ['whole', { units: 2, miscounted: 0 }],
      ['empty', { units: 0, miscounted: 0 }],
    ])
  })

  test('the audit judges the ledger alone', async () => {
    const { sale, parts } = await unseen()
    expect(await auditItems(parts, sale)).toMatchObject([{ available: 10, gate: undefined, consistent: true }])
  })

  test('the reconciliation touches nothing', async () => {
    const { sale, item, parts } = await unseen()
    const rebuilt: string[] = []
    const liveItem = bareLiveItem(sale, sale.items[0]!)
    const reconcile: ReconcileContext = {
      ...parts,
      gate: stage.gate,
      books: stage.books,
      outbox: stage.outbox,
      payments: ledger.payments,
      onPaid() {},
      onRefundDue() {},
      registry: new Map([[item, liveItem]]),
      log: { debug() {}, info() {}, warn() {}, error() {} },
      async rebuild(id) {
        rebuilt.push(id)
        return 'rebuilding'
      },
      onDifferences() {},
      onBroken() {},
    }
    expect(await reconcileSale(reconcile, sale)).toEqual({ differences: [], repairs: [] })
    expect(rebuilt).toEqual([])
    expect(await stage.outbox.depth([item])).toMatchObject([{ entries: 1 }])
  })
})
