/**
 * How many units of a sale may be held without paying, and by whom. What counts are units of live unpaid orders, and for a while those of
 * orders that ended without payment: unpaid in time, or cancelled. A member that is missing limits nothing.
 */

export interface HoldLimits {
  /** One buyer, over all items of the sale. */
  readonly perBuyer?: number | undefined
  /** One /24 of IPv4 or /48 of IPv6. */
  readonly perPrefix?: number | undefined
  /** Buyers whose tokens of the shop have the same value of this claim, by the claim's name. */
  readonly perClaim?: Readonly<Record<string, number>> | undefined
  /** How long an order that ended unpaid goes on counting. Missing: as long as there was time to pay. */
  readonly unpaidCountsMs?: number | undefined
  /** Attempts of a buyer at an item, once an order of the buyer has ended unpaid. */
  readonly attemptsUnpaid?: number | undefined
  /** The time to pay from the second attempt on, if it is shorter than the item's. */
  readonly payAgainMs?: number | undefined
}

export const CLAIMS_MAX = 3
export const CLAIM_NAME = /^[A-Za-z0-9_]{1,24}$/
