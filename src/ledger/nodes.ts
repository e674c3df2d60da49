/**
 * Node ids, leased in the ledger: two processes never make ids under the same number in the same millisecond. A lease also says what its process
 * may hold outside the ledger, and which epochs it has confirmed (E4).
 */

import type { Epoch, ItemId } from '../domain/ids.ts'

interface NodeLease {
  readonly node: number
  /** Make no id in a millisecond up to this one: the previous holder may have made some. */
  readonly fromMs: number
  /** Make no id in a millisecond beyond this one: a later holder may make some. */
  readonly untilMs: number
}

/** `holding`: may hold reservations that are not in the ledger yet (an edge or a worker of a cluster). `plain`: never does. */
export type NodeKind = 'holding' | 'plain'

export interface HoldingNodes {
  /** They have a lease. */
  readonly live: number
  /** Their lease lapsed, and what they acknowledged last may not be in the ledger. */
  readonly unsettled: number
  /** When the first and the last lease of the live ones ends (unix ms, by the ledger's clock). */
  readonly firstEndMs: number | undefined
  readonly lastEndMs: number | undefined
  /** E2, E3: for so long a process may still acknowledge under an epoch that was raised before this read. */
  readonly longestFenceMs: number
}

export interface Nodes {
  /** `nowMs`: the caller's wall clock, which its ids are made from. `fenceMs`: for how long it acknowledges after reading an epoch (E2). */
  lease(holder: string, nowMs: number, kind: NodeKind, fenceMs?: number): Promise<NodeLease>
  /**
   * Undefined: the lease lapsed and another process holds the id. One that lapsed and was not leased again is valid again. Also shortens
   * leases of other processes that end too late because a clock was ahead.
   */
  renew(node: number, holder: string, nowMs: number): Promise<number | undefined>
  /** Only for a process that holds nothing outside the ledger: it is settled. Any other lets its lease lapse. */
  giveBack(node: number, holder: string, lastMs: number): Promise<void>
  /** E4: this process has seen these epochs and holds nothing older of these items. False: the lease was lost. */
  confirm(node: number, holder: string, seen: readonly { item: ItemId; epoch: Epoch }[]): Promise<boolean>
  /**
   * E4, E10: holding processes that have not confirmed this epoch of the item. `waiting` have a lease; the lease of `lapsed` ones ended
   * unsettled: what they acknowledged last may not be in the ledger.
   */
  unconfirmed(item: ItemId, epoch: Epoch): Promise<{ readonly waiting: number; readonly lapsed: number }>
  /** The holding processes, read at one moment. */
  holding(): Promise<HoldingNodes>
  /** Marks processes whose lease lapsed before this moment (by the ledger's clock) as settled: all they reserved is in the ledger. */
  settle(beforeMs: number): Promise<void>
  /** The same for single items, each with a moment of its own: all that such processes reserved of the item is in the ledger. */
  settleItems(settled: readonly { readonly item: ItemId; readonly beforeMs: number }[]): Promise<void>
}
