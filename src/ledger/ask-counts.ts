/** How requests for orders were answered, by sale, over all processes: each writes what it has counted itself, from time to time. */

import type { SaleId } from '../domain/ids.ts'

/** Requests for orders. Those not in one of the parts got an order. */
export interface Asks {
  readonly asked: number
  readonly limited: number
  readonly soldOut: number
  /** For another reason: too early, paused, over, a bad ticket, busy. */
  readonly refused: number
}

export interface AskCounts {
  /** All that this process has counted of these sales. Again with the same counts changes nothing; a sale that is gone is left out. */
  save(process: string, counts: readonly (Asks & { readonly sale: SaleId; readonly sinceMs: number })[]): Promise<void>
  /** Of all other processes together. `sinceMs`: the first request; undefined: there was none. */
  ofOthers(sale: SaleId, process: string): Promise<Asks & { readonly sinceMs: number | undefined }>
}
