/** Node ids, leased in the ledger: two processes never make ids under the same number in the same millisecond. */

interface NodeLease {
  readonly node: number
  /** Make no id in a millisecond up to this one: the previous holder may have. */
  readonly fromMs: number
  /** Make no id in a millisecond beyond this one: a later holder may. */
  readonly untilMs: number
}

export interface Nodes {
  /** `nowMs` is the caller's wall clock, which its ids are made from. */
  lease(holder: string, nowMs: number): Promise<NodeLease>
  /** Undefined: the lease lapsed and somebody else holds the id. */
  renew(node: number, holder: string, nowMs: number): Promise<number | undefined>
  giveBack(node: number, holder: string, lastMs: number): Promise<void>
}
