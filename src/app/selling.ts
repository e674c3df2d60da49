/**
 * Selling, put together once for both ways to run: the sellers, the follow loop and the gate controller. Where the gate is, and what follows from
 * that, the context says (`GateSide`).
 */

import { createBatcher } from '../base/batching/batcher.ts'
import { createWaves } from '../base/batching/waves.ts'
import { type Clock, nextTurn } from '../base/clock.ts'
import { onFault } from '../base/fault.ts'
import type { SaleId } from '../domain/ids.ts'
import type { Item } from '../domain/item.ts'
import type { Sale } from '../domain/sale.ts'
import { type ConfirmContext, createConfirming } from '../flows/follow/confirm-epochs.ts'
import { Following } from '../flows/follow/follow-sales.ts'
import { GateController } from '../flows/keep/gate-controller.ts'
import { createSyncState } from '../flows/keep/sync-state.ts'
import { createQueues, LiveItem, type Seen } from '../flows/sell/live-item.ts'
import { createOpening } from '../flows/sell/opening.ts'
import type { SellContext } from '../flows/sell/sell-context.ts'
import type { Decision, Seller } from '../flows/sell/seller.ts'
import type { Ask } from '../gate/gate.ts'
import type { ProcessContext } from './process-context.ts'

/** So many are decided together. */
export const BATCH_MAX = 500
/** So many wait before the gate, per item. */
export const QUEUE_MAX = 20_000
const EARLY_WAITING_MAX = 20_000
/** E10. */
const GATE_DOWN_MS = 3_000
const DRAIN_MS_MAX = 60_000

/** Longest time since the ledger last answered before traffic should go elsewhere. */
const LEDGER_SILENT_MS_MAX = 5_000

/** The longest time for which the batches of one wave hold the next back: a few times what reserving and placing take when all is well. */
export const newWaves = (clock: Clock) => createWaves({ clock, msMax: 50 })

export type Selling = ReturnType<typeof createSelling>

export function createSelling(context: ProcessContext, confirm: ConfirmContext | undefined) {
  const { clock, log, rounds } = context
  const maySell = () => context.leader.holds() && !context.signal.aborted
  const confirming = createConfirming(confirm, context)
  const withdraw = (live: LiveItem) => confirming.withdraw(live)

  const { gate, view, orders, finder, acknowledged, waiters, unplaced, messages, ids, meters, alarm } = context
  // Only what it needs: this object is read for every click.
  const sell: SellContext = {
    gate,
    view,
    orders,
    finder,
    acknowledged,
    waiters,
    unplaced,
    messages,
    ids,
    clock,
    log,
    meters,
    traces: context.traces,
    alarm,
    opening: createOpening(clock, EARLY_WAITING_MAX),
    fenceMs: context.config.fenceMs,
    onStale: withdraw,
  }
  const makeSeller = context.sellers(sell)

  // In a cluster of Redis no item waits for the server of another.
  const waves = newWaves(clock)
  const untilPlaced = (decisions: readonly Decision[]) =>
    waiters.placed(decisions.flatMap(one => (one.kind === 'reserved' ? one.reservation.id : [])))

  function makeLiveItem(sale: Sale, item: Item, skewed: boolean, seen: Seen): LiveItem {
    const { door } = item
    const current = (door === 'ledger' || (door === 'gate' && context.isBuilt(item))) && context.maySell()
    const makeQueue = (sell: Seller['sell']) =>
      createQueues(door === 'gate' ? context.lanes(item) : undefined, QUEUE_MAX, queueMax =>
        createBatcher<Ask, Decision>({
          batchMax: BATCH_MAX,
          queueMax,
          defer: nextTurn,
          run: sell,
          waves: door !== 'gate' ? undefined : context.oneServer ? waves : newWaves(clock),
          hold: untilPlaced,
        }),
      )
    return new LiveItem({ sale, item, current, skewed, seen }, makeSeller, makeQueue)
  }

  // Seen in the ledger: the process that changed it has published it.
  const changed = () => context.catalog.invalidate()
  const following = new Following({ ...context, makeLiveItem, confirming, changed, defer: nextTurn })

  const controller = new GateController({
    ...context,
    maySell,
    onDoorSet: () => rounds.kick('follow'),
    fenceMs: context.rebuildFenceMs,
    gateDownMs: GATE_DOWN_MS,
    drainMsMax: DRAIN_MS_MAX,
  })

  const sync = createSyncState({
    ...context,
    waitMsMax: context.syncMsMax,
    wake() {
      rounds.kick('gates')
      rounds.kick('follow')
    },
  })

  return {
    context: sell,
    following,
    controller,
    maySell,
    withdraw,
    ledgerIsSilent: () => following.ledgerSilentMs() > LEDGER_SILENT_MS_MAX,
    /** Answers when the gate has the sale as the ledger has it, and this process follows it. */
    async syncState(sale: SaleId, warm: boolean): Promise<boolean> {
      // Another process has the gate, and syncs it with the ledger.
      if (!context.maySell()) return !warm
      const synced = await sync(sale, warm)
      await onFault(() => rounds.roundOf('follow'))
      return synced
    },
  }
}
