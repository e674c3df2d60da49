/**
 * The right to act alone on this ledger: to run an in-process gate, or to be the keeper of a cluster. One process at a time; another one
 * stands by until the first is gone, and follows within seconds when it dies, is stopped, or is cut off.
 * Losing it is not yet losing the items: that is what their epochs say.
 */
export interface LeaderLock {
  /** Resolves when this process holds the right, or when `signal` aborts (then false). `onWait` is called once if another has it. */
  acquire(signal: AbortSignal, onWait: () => void): Promise<boolean>
  /** Confirmed a moment ago, by the monotonic clock: a process that slept through its successor's start is told no when it wakes. */
  holds(): boolean
  /** Called when the right was lost without being given back. */
  onLost(listener: () => void): void
  giveBack(): Promise<void>
}
