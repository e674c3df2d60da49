/**
 * A process that may hold what is not in the ledger yet writes "seen epoch e of this item, nothing older held" (E4). A rebuild waits for it,
 * so it is written as soon as it is true and never before: what was acknowledged under an older epoch is in the ledger (E6), none of this
 * process's batches is at the gate under one, and the entries that its worker took under one are placed.
 *
 * Written again now and then, and whenever this process has another node id: a confirmation counts only with the lease it was made under.
 */

import type { Clock } from '../../base/clock.ts'
import { eachOf } from '../../base/each-of.ts'
import type { Log } from '../../base/log.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Nodes } from '../../ledger/nodes.ts'
import type { LiveItem, Registry } from '../sell/live-item.ts'
import { type HandOverContext, handOver } from './hand-over.ts'

export interface ConfirmContext {
  readonly nodes: Pick<Nodes, 'confirm'>
  /** The lease this process has now. */
  readonly lease: () => { readonly node: number; readonly holder: string }
  /** Undefined: this process acknowledges nothing. */
  readonly handOver: HandOverContext | undefined
  /** Has this process's worker entries in hand that were reserved under an epoch below this one? */
  readonly holdsOlder: (item: ItemId, epoch: Epoch) => boolean
}

const AGAIN_AFTER_MS = 5_000
/** What could be neither placed nor refused is tried again after so long: its reason is no outage. */
const STUCK_MS = 5_000

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
  let confirmed = new Map<ItemId, Epoch>()
  let confirmedAs = ''
  let confirmedAtMs = Number.NEGATIVE_INFINITY

  async function handOverDue(by: HandOverContext): Promise<void> {
    const due = [...forgotten].map(([item, epoch]) => ({ item, below: epoch + 1 }))
    for (const { item, epoch } of registry.values()) due.push({ item: item.id, below: epoch })
    // Of a sale that is not followed any more no newer epoch would be seen, and no stale gate.
    for (const item of by.acknowledged.items())
      if (!registry.has(item)) due.push({ item, below: Number.POSITIVE_INFINITY })
    await eachOf(due, 1, async ({ item, below }) => {
      if ((stuck.get(item) ?? 0) > clock.elapsed()) return
      const handed = await handOver(by, item, below)
      if (handed === 'stuck') stuck.set(item, clock.elapsed() + STUCK_MS)
      else stuck.delete(item)
      if (handed === 'done' && forgotten.get(item) === below - 1) forgotten.delete(item)
    })
  }

  /** Decided from one moment, and sent in the same turn: nothing can be acknowledged in between. */
  async function confirm({ nodes, lease, holdsOlder, handOver: by }: ConfirmContext): Promise<void> {
    const { node, holder } = lease()
    const as = `${node} ${holder}`
    if (as !== confirmedAs || clock.elapsed() - confirmedAtMs > AGAIN_AFTER_MS) confirmed = new Map()
    const seen: { readonly item: ItemId; readonly epoch: Epoch }[] = []
    for (const live of registry.values()) {
      const { epoch } = live
      const item = live.item.id
      if (confirmed.get(item) === epoch) continue
      if (by?.acknowledged.holdsOlder(item, epoch) || holdsOlder(item, epoch) || isLeaving(item, epoch)) continue
      seen.push({ item, epoch })
    }
    if (seen.length === 0) return
    const whole = confirmed.size === 0
    if (!(await nodes.confirm(node, holder, seen))) {
      // The lease was lost; the next one begins with nothing confirmed.
      confirmedAs = ''
      return
    }
    for (const { item, epoch } of seen) confirmed.set(item, epoch)
    confirmedAs = as
    if (whole) confirmedAtMs = clock.elapsed()
  }

  function isLeaving(item: ItemId, epoch: Epoch): boolean {
    for (const one of leaving) if (one.atGate > 0 && one.item.id === item && one.epoch < epoch) return true
    return false
  }

  return {
    /** This entry is not in the registry any more; its batches may still be at the gate. */
    replaced(live: LiveItem): void {
      if (live.atGate > 0) leaving.add(live)
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
      forgotten.set(item, Math.max(epoch, forgotten.get(item) ?? 0))
      log.warn({ item, epoch }, 'item withdrawn: its epoch may not sell here any more')
    },
    /** One call at a time. */
    async round(): Promise<void> {
      for (const one of leaving) if (one.atGate === 0) leaving.delete(one)
      if (context === undefined) return
      try {
        if (context.handOver !== undefined) await handOverDue(context.handOver)
      } finally {
        // An item that the ledger does not take now does not keep the others from being confirmed.
        await confirm(context)
      }
    },
  }
}
