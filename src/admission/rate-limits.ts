/**
 * The rate limits: per address, per buyer, per item and in total, each exact to the request over a sliding window
 * (`rate/sliding-window.ts`), or with a token bucket (`rate/token-bucket.ts`).
 *
 * Two calls, because the address is known at once and the buyer only when the ticket has been verified: a forged ticket must not use up
 * another buyer's allowance. Each call judges its limits in the order written, and counts only when all of them have room: a refused
 * request uses up nothing. A request that passes `admitAddress` and is refused by `admitBuyer` stays counted for its address and in
 * total: these two protect the verification of its ticket.
 *
 * Memory is fixed: about 26 MB for each of the two big tables when fully used, untouched until then. Uses the monotonic clock. Counts for
 * this process only: n edges admit n times as many. `shared-rate-limits.ts` counts over all edges.
 */

import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { BuyerId, ItemId } from '../domain/ids.ts'
import { createOwnCounts } from './rate/choose-counts.ts'
import { type Rate, type RateLimited, type RatePolicy, rateLimited } from './rate-limit-policy.ts'

/** Undefined when admitted. A promise only where the shared counts must be asked. */
export type Admission = RateLimited | undefined | Promise<RateLimited | undefined>

export interface RateLimits {
  /** Address, then total. */
  admitAddress(address: string): Admission
  /** Buyer, then item. The buyer must be verified. */
  admitBuyer(buyer: BuyerId, item: ItemId): Admission
}

interface OwnRateLimits extends RateLimits {
  admitAddress(address: string): RateLimited | undefined
  admitBuyer(buyer: BuyerId, item: ItemId): RateLimited | undefined
}

export interface Rates {
  readonly perAddress: Rate | undefined
  readonly perBuyer: Rate | undefined
  readonly perItem: Rate | undefined
  readonly total: Rate | undefined
}

interface RateLimitsOptions extends Rates {
  readonly clock: Clock
  readonly random: Random
}

/** A crowd of 100,000 in the same second is the case we are made for: each has a slot. */
export const PEOPLE_MAX = 131_072
export const ITEMS_MAX = 1024

export function createRateLimits(options: RateLimitsOptions): OwnRateLimits {
  const { clock, random } = options

  function limit(policy: RatePolicy, rate: Rate | undefined, keysMax: number) {
    if (rate === undefined) return undefined
    const own = createOwnCounts({ rate, keysMax, random })
    return {
      refuses: (key: string, nowMs: number) =>
        own.hasRoom(key, nowMs) ? undefined : rateLimited(policy, rate, own.waitMs()),
      take: own.take,
    }
  }

  const perAddress = limit('per-address', options.perAddress, PEOPLE_MAX)
  const perBuyer = limit('per-buyer', options.perBuyer, PEOPLE_MAX)
  const perItem = limit('per-item', options.perItem, ITEMS_MAX)
  const total = limit('total', options.total, 1)

  return {
    admitAddress(address) {
      const nowMs = clock.elapsed()
      const refused = perAddress?.refuses(address, nowMs) ?? total?.refuses('', nowMs)
      if (refused !== undefined) return refused
      perAddress?.take()
      total?.take()
      return undefined
    },

    admitBuyer(buyer, item) {
      const nowMs = clock.elapsed()
      const refused = perBuyer?.refuses(buyer, nowMs) ?? perItem?.refuses(item, nowMs)
      if (refused !== undefined) return refused
      perBuyer?.take()
      perItem?.take()
      return undefined
    },
  }
}
