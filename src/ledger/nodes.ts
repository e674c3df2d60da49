/** Node ids, leased in the ledger: two processes never make ids under the same number in the same millisecond. */

import type { Epoch, ItemId } from '../domain/ids.ts'

interface NodeLease {
  readonly node: number
  /** Make no id in a millisecond up to this one: the previous holder may have. */
  readonly fromMs: number
  /** Make no id in a millisecond beyond this one: a later holder may. */
  readonly untilMs: number
}

/** A process that may hold what is not in the ledger yet (an edge or a worker of a cluster), or one that never does. */
export type NodeKind = 'holding' | 'plain'

export interface Nodes {
  /** `nowMs` is the caller's wall clock, which its ids are made from; `fenceMs` for how long it acknowledges after reading an epoch (E2). */
  lease(holder: string, nowMs: number, kind: NodeKind, fenceMs?: number): Promise<NodeLease>
  /**
   * Undefined: the lease lapsed and somebody else holds the id. One that lapsed and was not handed on stands again. Cuts the leases of others
   * that a clock which was ahead has made longer than any lease is.
   */
  renew(node: number, holder: string, nowMs: number): Promise<number | undefined>
  /** Only for a process that holds nothing which is not in the ledger: it is settled. Whoever can't say so lets the lease lapse. */
  giveBack(node: number, holder: string, lastMs: number): Promise<void>
  /** E4: this process has seen these epochs and holds nothing older of these items. False: the lease was lost. */
  confirm(
    node: number,
    holder: string,
    seen: readonly { readonly item: ItemId; readonly epoch: Epoch }[],
  ): Promise<boolean>
  /**
   * E4, E10: holding processes that have not confirmed this epoch of the item. `waiting` have a lease; `lapsed` had one, did not give it
   * back, and are not settled: what they acknowledged last may not be in the ledger.
   */
  unconfirmed(item: ItemId, epoch: Epoch): Promise<{ readonly waiting: number; readonly lapsed: number }>
  /** E2, E3: so long somebody may still acknowledge under an epoch that was bumped before this is asked. */
  longestFenceMs(): Promise<number>
  /** Of holding processes that live: when the first of their leases ends, and the last (unix ms, by the ledger's clock). */
  leaseEnds(): Promise<{ readonly firstMs: number; readonly lastMs: number } | undefined>
  /** Holding processes: `live` have a lease; `unsettled` had one, and what they acknowledged last may not be in the ledger. */
  holding(): Promise<{ readonly live: number; readonly unsettled: number }>
  /** Lapsed processes whose lease ended before this moment (by the ledger's clock) left nothing behind: everything they reserved is in the ledger. */
  settle(beforeMs: number): Promise<void>
}
