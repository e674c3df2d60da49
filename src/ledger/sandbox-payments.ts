/**
 * The sandbox provider's payments, for several processes at once: texts under a ref, moved by compare-and-set. Not a part of the books:
 * no order, no payment of ours depends on it. Does not read what the texts say.
 */

export interface SandboxPayments {
  read(ref: string): Promise<string | undefined>
  /**
   * Puts the row in the place of `before`; undefined: there must be none yet. False: something else is there. True also when the row
   * already is what it shall be, so a try whose answer was lost may be made again.
   */
  replace(
    ref: string,
    before: string | undefined,
    row: { readonly text: string; readonly madeAtMs: number; readonly over: boolean },
  ): Promise<boolean>
  count(): Promise<number>
  /** Drops up to `most` that are over and were made before this moment, oldest first; how many. */
  forget(madeBeforeMs: number, most: number): Promise<number>
}
