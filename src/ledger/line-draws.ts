/**
 * Draws in the ledger: one row for each line that is drawn. Its states, each reached once and never left: opened (seed and commitment) → sealed (count and root
 * of the joins) → beacon known, where one was named → drawn. The row is there before the commitment is published, so a seed is never lost; every step is a
 * compare-and-set, so a draw is made once, however many processes try. The seed leaves the ledger only when it is drawn.
 */

import type { Beacon } from '../domain/draw/draw-key.ts'
import type { BeaconPromise } from '../domain/draw/join-chain.ts'
import type { SaleId } from '../domain/ids.ts'

export interface LineDraw {
  readonly sale: SaleId
  readonly algorithm: string
  readonly commitment: Uint8Array
  readonly sealsAtMs: number
  /** What was named before the line opened. */
  readonly promise: BeaconPromise | undefined
  readonly sealed: SealedJoins | undefined
  readonly beacon: Beacon | undefined
  readonly drawn: { readonly seed: Uint8Array; readonly atMs: number } | undefined
}

interface SealedJoins {
  /** The numbers 1 to this are drawn. */
  readonly joins: number
  /** How many joins had ended: those with a higher number of their end were in line. */
  readonly leaves: number
  readonly root: Uint8Array
}

interface NewDraw {
  readonly sale: SaleId
  readonly algorithm: string
  readonly seed: Uint8Array
  readonly sealsAtMs: number
  readonly promise: BeaconPromise | undefined
}

export interface LineDraws {
  /** The draw of a line as it stands: this one, unless there was one already. */
  open(draw: NewDraw): Promise<LineDraw>
  /** Those that are there. */
  find(sales: readonly SaleId[]): Promise<readonly LineDraw[]>
  /** At its time, by the ledger's clock. Joins after it are not drawn, also if the seal is late: the first of them seals. */
  seal(sale: SaleId): Promise<boolean>
  /** After the seal, once, and written to the log. False: it is not sealed, has no such source, or has a value. */
  setBeacon(sale: SaleId, beacon: Beacon, by: string): Promise<boolean>
  /** Shows the seed. False: it was drawn before, or something is missing. */
  draw(sale: SaleId): Promise<boolean>
}
