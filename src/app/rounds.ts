/**
 * The work that a process does again and again behind the buyers' backs: keep items on sale, close what is not paid, give units back,
 * settle payments, reconcile, push news. Each is a loop of its own; all of them only act while this process may sell.
 * Whoever makes work for a loop kicks it; before the loops have started a kick is not needed, because their first round sees everything.
 *
 * Three ways to begin: `start` for a gate in the process, `startKeeping` for the keeper of a cluster, `startPlacing` for its worker. The
 * loops of a keeper that stands by run too, and do nothing.
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import { type Loop, startLoop } from '../base/loop.ts'
import type { Sale } from '../domain/sale.ts'
import type { CheckContext } from '../flows/check/check-context.ts'
import { reconcileSale } from '../flows/check/reconcile.ts'
import { createSaleSettler } from '../flows/check/settle-over-sales.ts'
import type { GateController } from '../flows/keep/gate-controller.ts'
import { keepOnSale, type WarmParts } from '../flows/keep/warm-sale.ts'
import { OrderCloser } from '../flows/money/close-orders.ts'
import type { MoneyContext } from '../flows/money/money-context.ts'
import { releaseUnits } from '../flows/money/release-units.ts'
import { settlePayments } from '../flows/money/settle-payments.ts'
import { settleChanges } from '../flows/operate/change-stock.ts'
import type { OperateContext } from '../flows/operate/operate-context.ts'
import type { OrderPlacer } from '../flows/place/place-orders.ts'
import type { Report } from '../ledger/reconciliation.ts'
import type { Sales } from '../ledger/sales.ts'

/** What whoever may sell does, wherever the gate is. */
export interface KeeperWork {
  readonly maySell: () => boolean
  readonly money: MoneyContext
  readonly operate: OperateContext
  readonly check: CheckContext
  readonly onReconciled: (sale: Sale, report: Report) => void
  /** Rounds that others bring along: their name, how often, and what they do. */
  readonly others: readonly (readonly [name: string, everyMs: number, run: () => Promise<void>])[]
}

interface RoundsWork extends KeeperWork {
  readonly warm: WarmParts
}

interface ClusterKeeperWork extends KeeperWork {
  readonly gates: Pick<GateController, 'round'>
  readonly forget: { round(): Promise<void> }
  /** Moves units between the shards of an item. */
  readonly move: () => Promise<void>
  readonly sales: Sales
  /** Is every reservation of the sale in the ledger? */
  readonly allPlaced: (sale: Sale) => Promise<boolean>
}

const KEEPER_EVERY_MS = 250
const CLOSE_EVERY_MS = 200
const RELEASE_EVERY_MS = 200
const PAYMENTS_EVERY_MS = 500
const RECONCILE_EVERY_MS = 30_000
const SETTLE_EVERY_MS = 2_000
const FORGET_EVERY_MS = 10_000
const PLACE_EVERY_MS = 200
/** A buyer who is to wait asks again after a second: the units should be there by then. */
const MOVE_EVERY_MS = 200
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

  const startCommon = (work: KeeperWork, sales: Sales, allPlaced: ClusterKeeperWork['allPlaced']) => {
    const { maySell, money, check } = work
    const whileSelling = (run: () => Promise<boolean>) => async () => {
      for (let i = 0; i < ROUNDS_ON_END_MAX && maySell() && !signal.aborted; i++) if (!(await run())) return
    }
    for (const other of work.others) loop(...other)
    releasing = loop(
      'release',
      RELEASE_EVERY_MS,
      whileSelling(() => releaseUnits(money)),
    )
    paying = loop(
      'payments',
      PAYMENTS_EVERY_MS,
      whileSelling(() => settlePayments(money)),
    )
    const closer = new OrderCloser(money)
    const asking = loop('ask-due', CLOSE_EVERY_MS, () => closer.ask(() => maySell() && !signal.aborted))
    loop(
      'close',
      CLOSE_EVERY_MS,
      whileSelling(async () => {
        const { queued, more } = await closer.sweep()
        if (queued > 0) asking.kick()
        return more
      }),
    )
    loop('reconcile', RECONCILE_EVERY_MS, async () => {
      if (!maySell()) return
      const liveItem = new Map([...check.registry.values()].map(({ sale }) => [sale.id, sale]))
      let away: Fault | undefined
      for (const sale of liveItem.values()) {
        try {
          work.onReconciled(sale, await reconcileSale(check, sale))
        } catch (error) {
          // The next sale's gate may be there.
          if (!(error instanceof Fault)) throw error
          away = error
        }
      }
      if (away !== undefined) throw away
    })
    const settler = createSaleSettler({ ...check, sales, reconcile: sale => reconcileSale(check, sale), allPlaced })
    loop('settle-over', SETTLE_EVERY_MS, async () => {
      if (maySell()) await settler.round()
    })
  }

  return {
    loops,
    keeper: { round: () => keeper?.round() ?? Promise.resolve() },
    /** A loop of somebody else's making. */
    also: loop,
    kickReleases: () => releasing?.kick(),
    kickPayments: () => paying?.kick(),

    /** Begins with a whole round of the keeper: what is due is on sale when this resolves. Only for the holder of the sole-seller right. */
    async start(work: RoundsWork): Promise<Loop> {
      const { maySell, warm } = work
      keeper = loop('on-sale', KEEPER_EVERY_MS, async () => {
        await keepOnSale(warm)
        if (maySell()) await settleChanges(work.operate, undefined)
      })
      await keeper.round()
      // Behind a gate in the process nobody is told anything before the ledger has it.
      startCommon(work, warm.sales, async () => true)
      return keeper
    },

    /** The keeper of a cluster, whether it acts now or stands by. */
    startKeeping(work: ClusterKeeperWork): Loop {
      const { maySell } = work
      keeper = loop('gates', KEEPER_EVERY_MS, () => work.gates.round())
      loop('changes', KEEPER_EVERY_MS, async () => {
        if (maySell()) await settleChanges(work.operate, undefined)
      })
      loop('moves', MOVE_EVERY_MS, async () => {
        if (maySell()) await work.move()
      })
      loop('forget', FORGET_EVERY_MS, () => work.forget.round())
      startCommon(work, work.sales, work.allPlaced)
      return keeper
    },

    /** The worker of a cluster: messages wake it, and this looks for what no message told of. */
    startPlacing: (placer: Pick<OrderPlacer, 'round'>): Loop => loop('place', PLACE_EVERY_MS, () => placer.round()),
  }
}
