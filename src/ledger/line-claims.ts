/** Which buyer has joined a line with which verified claim: each claim belongs to the first who joins with it, for good. */

import type { BuyerId, SaleId } from '../domain/ids.ts'

export interface ClaimAsk {
  readonly sale: SaleId
  /** A hash of the claim's value: the value itself is not stored. */
  readonly claim: string
  readonly buyer: BuyerId
}

export interface LineClaims {
  /** The buyer that each claim belongs to, in the order of the asks. */
  take(asks: readonly ClaimAsk[]): Promise<readonly BuyerId[]>
}
