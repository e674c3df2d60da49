/**
 * A process that may hold what is not in the ledger yet writes "seen epoch e of this item, nothing older held" (E4). A rebuild waits for it,
 * so it is written as soon as it is true and never before: what was acknowledged under an older epoch is in the ledger (E6), none of this
 * process's batches is at the gate under one, and the entries that its worker took under one are placed.
 *
 * Written again now and then, and whenever this process has another node id: a confirmation counts only with the lease it was made under.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Nodes } from '../../ledger/nodes.ts'
import type { LiveItem, Registry } from '../sell/live-item.ts'
import { type HandOverParts, handOver } from './hand-over.ts'

export interface ConfirmParts {
  readonly nodes: Pick<Nodes, 'confirm'>
  /** The lease this process has now. */
  readonly lease: () => { readonly node: number; readonly holder: string }
  /** Undefined: this process acknowledges nothing. */
  readonly handOver: HandOverParts | undefined
  /** Has this process's worker entries in hand that were reserved under an epoch below this one? */
  readonly holdsOlder: (item: ItemId, epoch: Epoch) => boolean
}

type Unattended = (what: string, work: Promise<unknown>) => Promise<void>
type AtMost = (ms: number, work: Promise<void>) => Promise<void>

export interface Confirming {
  /** This entry is not in the registry any more; its batches may still be at the gate. */
  replaced(live: LiveItem): void
  /** The gate may have lost what was acknowledged under this entry's own epoch: that is handed over too. */
  handOverNow(live: LiveItem): void
  round(unattended: Unattended, atMost: AtMost): Promise<void>
}

/** A round goes on after so long: the fence must be renewed, however long the ledger takes for a hand-over. */
const ROUND_WAIT_MS = 250
const AGAIN_AFTER_MS = 5_000

export function createConfirming(
  parts: ConfirmParts | undefined,
  { registry, clock }: { readonly registry: Registry; readonly clock: Clock },
): Confirming {
  /** Replaced while batches of theirs were at the gate. */
  const leaving = new Set<LiveItem>()
  /** The gate has called this epoch stale: hand over up to and including it. */
  const forgotten = new Map<ItemId, Epoch>()
  let confirmed = new Map<ItemId, Epoch>()
  let confirmedAs = ''
  let confirmedAtMs = Number.NEGATIVE_INFINITY
  let working: Promise<void> | undefined

  /** One item that the ledger does not take now does not keep the others from being confirmed. */
  async function work(all: ConfirmParts): Promise<void> {
    const due = [...forgotten].map(([item, epoch]) => ({ item, below: epoch + 1 }))
    for (const { item, epoch } of registry.values()) due.push({ item: item.id, below: epoch })
    let fault: Fault | undefined
    for (const { item, below } of all.handOver === undefined ? [] : due) {
      try {
        if ((await handOver(all.handOver!, item, below)) && forgotten.get(item) === below - 1) forgotten.delete(item)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        fault ??= error
      }
    }
    await confirm(all)
    if (fault !== undefined) throw fault
  }

  /** Decided from one moment, and sent in the same turn: nothing can be acknowledged in between. */
  async function confirm({ nodes, lease, holdsOlder, handOver: by }: ConfirmParts): Promise<void> {
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
    replaced(live) {
      if (live.atGate > 0) leaving.add(live)
    },
    handOverNow: live => void forgotten.set(live.item.id, Math.max(live.epoch, forgotten.get(live.item.id) ?? 0)),
    async round(unattended, atMost) {
      for (const one of leaving) if (one.atGate === 0) leaving.delete(one)
      if (parts === undefined) return
      working ??= unattended('handing over and confirming', work(parts)).then(() => {
        working = undefined
      })
      await atMost(ROUND_WAIT_MS, working)
    },
  }
}
