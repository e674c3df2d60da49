/**
 * A process that may hold what is not in the ledger yet writes "seen epoch e of this item, nothing older held" (E4). A rebuild waits for it,
 * so it is written as soon as it is true and never before: what was acknowledged under an older epoch is in the ledger (E6), none of this
 * process's batches is at the gate under one, and the entries that its worker took under one are placed. Items are handed over side by
 * side, a few at once: one that is huge, or locked in the ledger, does not keep the others from being confirmed.
 *
 * Written once for each epoch of an item, and again for all when this process has another node id (a confirmation counts only with the lease it
 * was made under) or when the ledger may have lost it: an item where nothing happens costs nothing.
 */

import type { Clock } from '../../base/clock.ts'
import { atMost } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Nodes } from '../../ledger/nodes.ts'
import type { LiveItem, Registry } from '../sell/live-item.ts'
import { type HandOverContext, handOver, ITEMS_AT_ONCE_MAX } from './hand-over.ts'

export interface ConfirmContext {
  readonly nodes: Pick<Nodes, 'confirm'>
  /** The lease this process has now. */
  readonly lease: () => { readonly node: number; readonly holder: string }
  /** Undefined: this process acknowledges nothing. */
  readonly handOver: HandOverContext | undefined
  /** Has this process's worker entries in hand that were reserved under an epoch below this one? */
  readonly holdsOlder: (item: ItemId, epoch: Epoch) => boolean
}

/** What could be neither placed nor refused is tried again after so long: its reason is no outage. */
const STUCK_MS = 5_000
/** What the ledger did not answer for is tried again after so long: then others have had their turn. */
const FAULT_MS = 300
/** Epochs that are confirmed by one statement. */
const CONFIRM_MAX = 1_000
/** What is handed over within this time is confirmed in the same round. */
const HAND_OVER_WAIT_MS = 200

export type Confirming = ReturnType<typeof createConfirming>

/** @param context undefined: this process never holds what is not in the ledger */
export function createConfirming(
  context: ConfirmContext | undefined,
  { registry, clock, log }: { readonly registry: Registry; readonly clock: Clock; readonly log: Log },
) {
  /** Replaced while batches of theirs were at the gate. */
  const leaving = new Set<LiveItem>()
  /** The gate has called this epoch stale: hand over up to and including it. */
  const forgotten = new Map<ItemId, Epoch>()
  /** Until when an item is left alone. */
  const stuck = new Map<ItemId, number>()
  const underWay = new Map<ItemId, Promise<void>>()
  /** The first that a hand-over met since the last round. */
  let failed: { readonly error: unknown } | undefined
  /** Called stale, and not sold under since. */
  const withdrawn = new Set<LiveItem>()
  const confirmed = new Map<ItemId, Epoch>()
  /** Of which the epoch in the registry may not be confirmed yet. */
  const unconfirmed = new Set<ItemId>()
  let confirmedAs = ''

  /** By item of which anything is held, or that is to be handed over: below which epoch everything is. */
  function dueOf(by: HandOverContext): ReadonlyMap<ItemId, Epoch> {
    const due = new Map<ItemId, Epoch>()
    // Of a sale that is not followed any more no newer epoch would be seen, and no stale gate.
    for (const item of by.acknowledged.items()) due.set(item, registry.get(item)?.epoch ?? Number.POSITIVE_INFINITY)
    for (const [item, epoch] of forgotten)
      due.set(item, Math.max(epoch + 1, due.get(item) ?? registry.get(item)?.epoch ?? 0))
    return due
  }

  /** Begins what is due and may begin, and waits a little for all that is under way. */
  async function handOverDue(by: HandOverContext): Promise<void> {
    for (const item of stuck.keys()) if ((stuck.get(item) ?? 0) <= clock.elapsed()) stuck.delete(item)
    for (const [item, below] of dueOf(by)) {
      if (!by.acknowledged.holdsOlder(item, below)) {
        if ((forgotten.get(item) ?? below) < below) forgotten.delete(item)
      } else if (underWay.size < ITEMS_AT_ONCE_MAX && !underWay.has(item) && !stuck.has(item)) {
        const task = handOverItem(by, item, below).finally(() => underWay.delete(item))
        underWay.set(item, task)
      }
    }
    if (underWay.size > 0) await atMost(clock, HAND_OVER_WAIT_MS, Promise.all(underWay.values()))
  }

  async function handOverItem(by: HandOverContext, item: ItemId, below: Epoch): Promise<void> {
    try {
      const handed = await handOver(by, item, below)
      if (handed === 'stuck') stuck.set(item, clock.elapsed() + STUCK_MS)
      if (handed === 'done' && (forgotten.get(item) ?? below) < below) forgotten.delete(item)
    } catch (error) {
      if (error instanceof Fault) stuck.set(item, clock.elapsed() + FAULT_MS)
      failed ??= { error }
    }
  }

  /** Decided from one moment, and sent in the same turn: nothing can be acknowledged in between. */
  async function confirm({ nodes, lease, holdsOlder, handOver: by }: ConfirmContext): Promise<void> {
    const { node, holder } = lease()
    const as = `${node} ${holder}`
    if (as !== confirmedAs) confirmAll()
    confirmedAs = as
    const waiting = [...unconfirmed]
    for (let i = 0; i < waiting.length; i += CONFIRM_MAX) {
      const seen: { readonly item: ItemId; readonly epoch: Epoch }[] = []
      for (const item of waiting.slice(i, i + CONFIRM_MAX)) {
        const epoch = registry.get(item)?.epoch
        if (epoch === undefined || confirmed.get(item) === epoch) unconfirmed.delete(item)
        else if (!(by?.acknowledged.holdsOlder(item, epoch) || holdsOlder(item, epoch) || isLeaving(item, epoch)))
          seen.push({ item, epoch })
      }
      if (seen.length === 0) continue
      if (!(await nodes.confirm(node, holder, seen))) {
        // The lease was lost; the next one begins with nothing confirmed.
        confirmedAs = ''
        return
      }
      for (const { item, epoch } of seen) confirmed.set(item, epoch)
    }
  }

  function confirmAll(): void {
    confirmed.clear()
    for (const item of registry.keys()) unconfirmed.add(item)
  }

  function isLeaving(item: ItemId, epoch: Epoch): boolean {
    for (const one of leaving) if (one.atGate > 0 && one.item.id === item && one.epoch < epoch) return true
    return false
  }

  return {
    /** This entry is in the registry now. */
    added(live: LiveItem): void {
      unconfirmed.add(live.item.id)
      if (live.staleAtMs !== undefined) withdrawn.add(live)
    },
    /** The ledger may have lost what was confirmed. */
    again: confirmAll,
    /** Entries of the registry that may sell again when later reads show their epoch. */
    *withdrawn(): Iterable<LiveItem> {
      for (const live of withdrawn)
        if (live.staleAtMs === undefined || registry.get(live.item.id) !== live) withdrawn.delete(live)
        else yield live
    },
    /** This entry is not in the registry any more; its batches may still be at the gate. */
    replaced(live: LiveItem): void {
      if (live.atGate > 0) leaving.add(live)
    },
    /** The item is not in the registry any more. */
    dropped(item: ItemId): void {
      confirmed.delete(item)
      unconfirmed.delete(item)
    },
    /**
     * The gate or the ledger called a live item's epoch stale: nothing is sold under it until a later read shows it active again. The gate
     * may have lost what was acknowledged under it: that is handed over too.
     */
    withdraw(live: LiveItem): void {
      if (!live.current) return
      const { epoch } = live
      const item = live.item.id
      live.current = false
      live.staleAtMs = clock.elapsed()
      withdrawn.add(live)
      forgotten.set(item, Math.max(epoch, forgotten.get(item) ?? 0))
      log.warn({ event: 'item_withdrawn', item, epoch }, 'item withdrawn: its epoch may not sell here any more')
    },
    /** One call at a time. */
    async round(): Promise<void> {
      for (const one of leaving) if (one.atGate === 0) leaving.delete(one)
      if (context === undefined) return
      if (context.handOver !== undefined) await handOverDue(context.handOver)
      // An item that the ledger does not take now does not keep the others from being confirmed.
      await confirm(context)
      const met = failed
      failed = undefined
      if (met !== undefined) throw met.error
    },
  }
}
