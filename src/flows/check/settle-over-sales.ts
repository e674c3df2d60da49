/**
 * When a sale is over and no order or unit moves any more, a last reconciliation runs and its report is kept with the results. Where
 * reservations may wait outside the ledger, they are waited for; after `LATE_MS` an alarm is raised. The ledger's clock says whether a
 * sale is over: if it was wrong and has been corrected, the sale gets another report at its real end.
 */

import { eachOf } from '../../base/each-of.ts'
import { onFault } from '../../base/fault.ts'
import { createRotation } from '../../base/rotation.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate } from '../../gate/gate.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { Report } from '../../ledger/reconciliation.ts'
import { entriesOf } from '../keep/drain.ts'
import type { CheckContext } from './check-context.ts'

interface SettleContext extends Pick<CheckContext, 'sales' | 'reconciliation' | 'clock' | 'log' | 'alarm'> {
  readonly reconcile: (sale: Sale) => Promise<Report>
  /** Is every reservation of the sale in the ledger? Unknown counts as no. */
  readonly allPlaced: (sale: Sale) => Promise<boolean>
}

/** Looked at in one round; the next round goes on behind them. */
const SALES_MAX = 50
const SALES_AT_ONCE_MAX = 4
/** Longer than a restart of the gate takes, with its rebuild. A buyer who was told `202` may be waiting. */
const LATE_MS = 300_000
/** Longer than sales are followed after their end (`followed_sales.sql`). */
const FOLLOWED_MS = 3_660_000

export function createSaleSettler(context: SettleContext): { round(): Promise<void> } {
  const { sales, reconciliation, clock, log } = context
  /** Sales with unplaced reservations: since when, and whether the alarm was raised. */
  const waiting = new Map<SaleId, { readonly sinceMs: number; alarmed: boolean }>()
  const next = createRotation(
    SALES_MAX,
    (after, max) => reconciliation.toSettle(after, max),
    id => id,
  )
  /** Since the list was begun from its start. */
  let listed = new Set<SaleId>()

  async function settle(sale: Sale): Promise<void> {
    const report = await context.reconcile(sale)
    const results = await reconciliation.results(sale.id)
    await reconciliation.save(sale.id, 'final', report, { results })
    log.info(
      { event: 'sale_settled', sale: sale.id, differences: report.differences.length, results },
      'sale over and settled',
    )
  }

  function wait(sale: SaleId): void {
    const entry = waiting.get(sale) ?? { sinceMs: clock.elapsed(), alarmed: false }
    waiting.set(sale, entry)
    const waitedMs = Math.round(clock.elapsed() - entry.sinceMs)
    if (entry.alarmed || waitedMs < LATE_MS) return
    entry.alarmed = true
    context.alarm('sale_not_settled', { sale, waitedMs })
  }

  return {
    async round() {
      for (const sale of await reconciliation.reopen())
        log.warn(
          { event: 'sale_reopened', sale },
          'sale with a final report is not over: it gets another report at its end',
        )
      const { page, isLast } = await next()
      for (const id of page) listed.add(id)
      if (isLast) {
        for (const id of waiting.keys()) if (!listed.has(id)) waiting.delete(id)
        listed = new Set()
      }
      await eachOf(page, SALES_AT_ONCE_MAX, async id => {
        const sale = await sales.find(id)
        if (sale === undefined) return
        if (await context.allPlaced(sale)) await settle(sale)
        else wait(id)
      })
    },
  }
}

/**
 * Whether all reservations of a sale are placed, where a gate writes an outbox: every gate that has an item must show that the sale is
 * over, and after that the outbox must be empty. The ledger knows of an end before the gate, which may reserve until then. Items that
 * never had a gate need no answer from one.
 */
export function createPlacedCheck(
  gate: Pick<Gate, 'status'>,
  outbox: Pick<Outbox, 'depth'>,
): (sale: Sale) => Promise<boolean> {
  return async sale => {
    const items = sale.items.filter(item => item.gateEpoch > 0).map(item => item.id)
    if (items.length === 0) return true
    const isPlaced = async () => (await isOverAtGate(gate, sale)) && (await entriesOf(outbox, items)) === 0
    return onFault(isPlaced, () => false)
  }
}

async function isOverAtGate(gate: Pick<Gate, 'status'>, sale: Sale): Promise<boolean> {
  const sold = sale.items.filter(({ gateEpoch, door }) => gateEpoch > 0 && (door === 'gate' || door === 'draining'))
  if (sold.length === 0) return true
  const { items, nowMs, behindMs = 0 } = await gate.status(sold.map(({ id }) => id))
  // No process follows the sale any more, so none sells it, whatever state its gate shows.
  if (nowMs - behindMs - sale.closesAtMs > FOLLOWED_MS) return true
  const statuses = new Map(items.map(status => [status.item, status]))
  return sold.every(({ id, epoch, door }) => {
    const status = statuses.get(id)
    // Draining: a rebuild or a change of the door is under way, and is waited for.
    if (door === 'draining') return false
    if (status === undefined || status.epoch !== epoch || status.uneven === true) return false
    return status.state === 'over' || nowMs - behindMs >= status.closesAtMs
  })
}
