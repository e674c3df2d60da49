/**
 * The work that a process does again and again behind the buyers' backs: keep items on sale, close what is not paid, give pieces back,
 * settle payments, reconcile, push news. Each is a loop of its own; all of them only act while this process may sell.
 * Whoever makes work for a loop kicks it; before the loops have started a kick is not needed, because their first round sees everything.
 */

import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { type Loop, startLoop } from '../base/loop.ts'
import type { Sale } from '../domain/sale.ts'
import { type ChangeStockParts, settleChanges } from '../flows/change-stock.ts'
import { type CloseParts, closeDue } from '../flows/close-orders.ts'
import { type ReconcileParts, reconcileSale } from '../flows/reconcile.ts'
import { type ReleaseParts, releaseUnits } from '../flows/release-units.ts'
import { settleOverSales } from '../flows/settle-over-sales.ts'
import { type SettleParts, settlePayments } from '../flows/settle-payments.ts'
import { keepOnSale, type WarmParts } from '../flows/warm-sale.ts'
import type { Report } from '../ledger/reconciling.ts'

export interface RoundsWork {
  readonly maySell: () => boolean
  readonly warm: WarmParts
  readonly change: ChangeStockParts
  readonly release: ReleaseParts
  readonly settle: SettleParts
  readonly close: CloseParts
  readonly reconcile: ReconcileParts
  readonly onReconciled: (sale: Sale, report: Report) => void
  /** Rounds that others bring along: their name, how often, and what they do. */
  readonly others: readonly (readonly [name: string, everyMs: number, run: () => Promise<void>])[]
}

const KEEPER_EVERY_MS = 250
const CLOSE_EVERY_MS = 200
const RELEASE_EVERY_MS = 200
const PAYMENTS_EVERY_MS = 500
const RECONCILE_EVERY_MS = 30_000
const SETTLE_EVERY_MS = 2_000
/** Rounds that found all they could take follow at once, at most so many. */
const ROUNDS_ON_END_MAX = 20

export function createRounds({ clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal }) {
  const loops: Loop[] = []
  let keeper: Loop | undefined
  let releasing: Loop | undefined
  let paying: Loop | undefined

  const loop = (name: string, everyMs: number, run: () => Promise<void>) => {
    const started = startLoop({ name, everyMs, clock, log, signal, run })
    loops.push(started)
    return started
  }

  return {
    loops,
    keeper: { round: () => keeper?.round() ?? Promise.resolve() },
    kickReleases: () => releasing?.kick(),
    kickPayments: () => paying?.kick(),

    /** Begins with a whole round of the keeper: what is due is on sale when this resolves. Only for the holder of the sole-seller right. */
    async start(work: RoundsWork): Promise<Loop> {
      const { maySell, reconcile } = work
      const whileSelling = (run: () => Promise<boolean>) => async () => {
        for (let i = 0; i < ROUNDS_ON_END_MAX && maySell() && !signal.aborted; i++) if (!(await run())) return
      }
      const releaseRound = whileSelling(() => releaseUnits(work.release))
      const paymentRound = whileSelling(() => settlePayments(work.settle))
      const closeRound = whileSelling(() => closeDue(work.close))

      keeper = loop('on-sale', KEEPER_EVERY_MS, async () => {
        await keepOnSale(work.warm)
        if (maySell()) await settleChanges(work.change, undefined)
      })
      await keeper.round()
      for (const other of work.others) loop(...other)
      releasing = loop('release', RELEASE_EVERY_MS, releaseRound)
      paying = loop('payments', PAYMENTS_EVERY_MS, paymentRound)
      loop('close', CLOSE_EVERY_MS, closeRound)
      loop('reconcile', RECONCILE_EVERY_MS, async () => {
        if (!maySell()) return
        const sales = new Map([...work.warm.shelf.values()].map(({ sale }) => [sale.id, sale]))
        for (const sale of sales.values()) work.onReconciled(sale, await reconcileSale(reconcile, sale))
      })
      loop('settle-over', SETTLE_EVERY_MS, async () => {
        if (!maySell()) return
        const { reconciling } = reconcile
        await settleOverSales({
          sales: work.warm.sales,
          reconciling,
          reconcile: sale => reconcileSale(reconcile, sale),
          log,
        })
      })
      return keeper
    },
  }
}
