/**
 * Puts what is due on sale, keeps it there, and takes it away: the keeper's part for an in-process gate.
 *
 * One round: sales whose warm-up has begun are loaded into the gate and verified; items whose epoch somebody else has bumped are
 * withdrawn and rebuilt; what the ledger says of window and state is passed on; reservations left unsettled are placed again; items of
 * sales long over are dropped. Every step is safe to repeat, and a round that fails is followed by the next.
 */

import { assert } from '../../base/assert.ts'
import { createBatcher } from '../../base/batcher.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Ask, Gate } from '../../gate/gate.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { Rights } from '../../ledger/rights.ts'
import type { Sales } from '../../ledger/sales.ts'
import { type DecideParts, decideBatch, placeUnsettled } from '../sell/decide-batch.ts'
import type { Decision, LiveItem, Registry } from '../sell/live-item.ts'
import { rebuildGate } from './rebuild-gate.ts'
import { windowStateOf } from './sync-state.ts'

export interface WarmParts {
  readonly gate: Gate
  readonly near: LocalView
  readonly rights: Rights
  readonly sales: Sales
  readonly clock: Clock
  readonly log: Log
  readonly registry: Registry
  readonly decide: DecideParts
  /** May this process take items for itself? Another one may have the right. */
  readonly maySell: () => boolean
  /** Shuts the doors of items that nobody sells any more, except these. */
  readonly shutIdle: (liveItem: readonly ItemId[]) => Promise<unknown>
  /** Opens connections and reads the catalog before the crowd needs them. */
  readonly prepare: () => Promise<void>
  readonly fenceMs: number
  readonly batchMax: number
  readonly queueMax: number
  /** How an idle line starts; see `base/batcher.ts`. */
  readonly defer: (fn: () => void) => void
}

/** An item stays in the gate this long after its sale, so that late questions are cheap. */
const KEEP_AFTER_MS = 3_600_000
const SKEW_MS_MAX = 1_000
/** So many items of a round may fail before it counts as the ledger's failure. */
const FAULTS_MAX = 3

/** Loads a sale's items that are not on sale yet. */
async function warmSale(parts: WarmParts, sale: Sale, skewed: boolean, faults: Fault[]): Promise<void> {
  let fresh = false
  for (const item of sale.items) {
    const there = parts.registry.get(item.id)
    if (there?.current) {
      there.sale = sale
      there.item = item
      // It may have been called over and be due again: its window was changed.
      there.retired = false
      await syncState(parts, there, sale)
    } else {
      await tolerate(
        faults,
        async () => {
          await putOnSale(parts, sale, item, skewed)
          fresh = true
        },
        fault =>
          parts.log.warn(
            { item: item.id, code: fault.code, err: fault },
            'an item could not be put on sale; trying again',
          ),
      )
    }
  }
  if (fresh) await parts.prepare()
}

/** One item that fails does not keep the keeper from the others; when several do, it is the ledger, and the round is over. */
async function tolerate(faults: Fault[], work: () => Promise<void>, tell: (fault: Fault) => void): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Fault) || faults.push(error) >= FAULTS_MAX) throw error
    tell(error)
  }
}

/** One round of the keeper. */
export async function keepOnSale(parts: WarmParts): Promise<void> {
  await withdrawTaken(parts)
  const skewed = await compareClocks(parts)
  if (!parts.maySell()) return
  const faults: Fault[] = []
  const due = await parts.sales.warmDue()
  const dueIds = new Set<SaleId>()
  for (const sale of due) {
    dueIds.add(sale.id)
    await warmSale(parts, sale, skewed, faults)
  }
  for (const liveItem of parts.registry.values()) {
    if (liveItem.current && liveItem.unsettled.size > 0 && liveItem.placing === 0)
      await placeUnsettled(parts.decide, liveItem)
    if (!dueIds.has(liveItem.sale.id)) await retire(parts, liveItem)
  }
  // What ended while it was being rebuilt has no keeper any more: without this its door stays as it is, and so do its releases.
  await parts.shutIdle([...parts.registry.keys()])
}

/** E2 for an in-process gate: an epoch that the ledger no longer shows as ours is not sold under. */
async function withdrawTaken(parts: WarmParts): Promise<void> {
  const rights = await parts.rights.read([...parts.registry.keys()])
  for (const { item, epoch } of rights) {
    const liveItem = parts.registry.get(item)
    if (liveItem?.current && liveItem.epoch !== epoch) withdraw(parts, liveItem)
  }
}

/** The window is judged by the gate's clock; the ledger's is the one everybody shares. More than a second apart, nothing is sold. */
async function compareClocks(parts: WarmParts): Promise<boolean> {
  const beforeMs = parts.near.nowMs()
  const ledgerMs = await parts.rights.now()
  const afterMs = parts.near.nowMs()
  const skewed = ledgerMs < beforeMs - SKEW_MS_MAX || ledgerMs > afterMs + SKEW_MS_MAX
  for (const liveItem of parts.registry.values()) {
    if (skewed !== liveItem.skewed) {
      const fields = { item: liveItem.item.id, aheadMs: afterMs - ledgerMs }
      if (skewed)
        parts.log.error(
          fields,
          "the gate's clock and the ledger's disagree; nothing is sold until the clocks are set right and Stampede is restarted",
        )
      else parts.log.info(fields, "the gate's clock and the ledger's agree again")
    }
    liveItem.skewed = skewed
  }
  return skewed
}

export function withdraw(parts: Pick<WarmParts, 'log'>, liveItem: LiveItem): void {
  if (!liveItem.current) return
  liveItem.current = false
  // What was unsettled under this epoch is settled by the rebuild: it is in the ledger, or it never happened.
  liveItem.unsettled.clear()
  parts.log.warn(
    { item: liveItem.item.id, epoch: liveItem.epoch },
    'the item was taken over by another epoch; rebuilding',
  )
}

async function putOnSale(parts: WarmParts, sale: Sale, item: Item, skewed: boolean): Promise<void> {
  const startedMs = parts.clock.elapsed()
  const epoch = await rebuildGate(parts, item.id)
  if (epoch === undefined) return
  const look = parts.near.statusNow(item.id)
  assert(
    look !== undefined && look.epoch === epoch,
    `item ${item.id} was activated under ${epoch} but does not show it`,
  )
  const liveItem: LiveItem = {
    sale,
    item,
    epoch,
    current: true,
    skewed,
    retired: false,
    unsettled: new Map(),
    placing: 0,
    line: createBatcher<Ask, Decision>({
      batchMax: parts.batchMax,
      queueMax: parts.queueMax,
      defer: parts.defer,
      run: asks => decideBatch(parts.decide, liveItem, asks),
    }),
  }
  parts.registry.set(item.id, liveItem)
  const tookMs = Math.round(parts.clock.elapsed() - startedMs)
  parts.log.info({ sale: sale.id, item: item.id, epoch, left: look.left, held: look.held, tookMs }, 'item on sale')
}

/** Window and state as the ledger has them now. */
async function syncState(parts: WarmParts, liveItem: LiveItem, sale: Sale): Promise<void> {
  const done = await parts.gate.set(liveItem.item.id, liveItem.epoch, windowStateOf(sale))
  if (done.status === 'stale') withdraw(parts, liveItem)
}

/** The sale is over (or was taken back to nothing): tell the gate, and after a while forget the item. */
async function retire(parts: WarmParts, liveItem: LiveItem): Promise<void> {
  if (!liveItem.current) {
    parts.registry.delete(liveItem.item.id)
    parts.near.drop(liveItem.item.id)
    return
  }
  if (!liveItem.retired) {
    const sale = await parts.sales.find(liveItem.sale.id)
    if (sale !== undefined) {
      liveItem.sale = sale
      await syncState(parts, liveItem, sale)
    }
    liveItem.retired = true
  }
  if (parts.near.nowMs() - liveItem.sale.closesAtMs < KEEP_AFTER_MS) return
  liveItem.current = false
  // Nobody sells it any more: what still comes back stays in the ledger.
  await parts.rights.setDoor(liveItem.item.id, liveItem.epoch, 'shut')
  parts.registry.delete(liveItem.item.id)
  parts.near.drop(liveItem.item.id)
}
