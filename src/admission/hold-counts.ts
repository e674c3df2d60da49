/**
 * How many units each subject holds unpaid, in books of their own: one for a sale and the subjects it limits. A subject is a buyer, a network or the value of a claim, under a key that tells no name.
 * A hold is the units of one buyer's attempt at one item. It counts for a time and then no more, so whatever is lost on the way (the end of an
 * order, a process) mends itself.
 *
 * Only counts: the ledger is the truth about orders, and an edge that reads them from it (`load`) brings counts back that were lost. Times are
 * durations, so the clocks of edges do not matter.
 */

export interface Hold {
  /** The same for every ask of this buyer, item and attempt. */
  readonly id: string
  readonly units: number
  readonly keys: readonly string[]
  /** From now on; whole ms, above 0. */
  readonly forMs: number
}

/**
 * taken   counted, now or before
 * full    nothing was counted: the subject at this place of `keys` has no room
 * unread  nothing was counted: this book is not there, read them from the ledger first
 */
export type HoldTaken =
  | { readonly kind: 'taken' }
  | { readonly kind: 'full'; readonly at: number }
  | { readonly kind: 'unread' }

export interface HoldCounts {
  /**
   * Counts a hold if every subject has room, in one step. One that is counted already passes, with so many units or fewer; with more it needs room for
   * them. Undefined: no answer; it may be counted.
   */
  take(book: string, hold: Hold, maxima: readonly number[]): HoldTaken | Promise<HoldTaken | undefined>
  /**
   * From now on these count for so long, 0: no more. Unknown ids are ignored. False: no answer.
   * @param withinMs only those that would end by themselves within it
   */
  keep(book: string, ids: readonly string[], forMs: number, withinMs?: number): Promise<boolean>
  /** Counts these, whatever the limits; those that are counted already stay as they are. False: no answer. */
  load(book: string, holds: readonly Hold[]): Promise<boolean>
}

export const TAKEN: HoldTaken = Object.freeze({ kind: 'taken' })
export const UNREAD: HoldTaken = Object.freeze({ kind: 'unread' })
