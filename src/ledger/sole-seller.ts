/**
 * The right to run an in-process gate on this ledger: one process at a time. A second one stands by until the first is gone.
 * Losing it (the connection died) is not yet losing the items: that is what their epochs say.
 */
export interface SoleSeller {
  /** Resolves when this process holds the right, or when `signal` aborts (then false). `onWait` is called once if another has it. */
  acquire(signal: AbortSignal, onWait: () => void): Promise<boolean>
  holds(): boolean
  /** Called when the right was lost without being given back. */
  onLost(listener: () => void): void
  giveBack(): Promise<void>
}
