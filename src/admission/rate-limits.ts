/**
 * The rate limits: per address and the networks around it (`rate/address-layers.ts`), per buyer, per item and in total, each exact to the
 * request over a sliding window (`rate/sliding-window.ts`), or with a token bucket (`rate/token-bucket.ts`).
 *
 * Two calls, because the address is known at once and the buyer only when the ticket has been verified: a forged ticket must not use up
 * another buyer's allowance. Each call judges its limits in the order written, and counts only when all of them have room: a refused
 * request uses up nothing. A request that passes `admitAddress` and is refused by `admitBuyer` stays counted for its address and in
 * total: these two protect the verification of its ticket.
 *
 * Memory is fixed: about 26 MB for each of the two big tables and 12 MB for each kind of network when fully used, untouched until then. Uses the monotonic clock. Counts for
 * this process only: n edges admit n times as many. `shared-rate-limits.ts` counts over all edges.
 */

import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { BuyerId, ItemId } from '../domain/ids.ts'
import { addressLayers, type Layer, PEOPLE_MAX } from './rate/address-layers.ts'
import type { OwnCounts } from './rate/own-counts.ts'
import { createSlidingWindow } from './rate/sliding-window.ts'
import { createTokenBucket } from './rate/token-bucket.ts'
import { type NetworkRates, type Rate, type RateLimited, type RatePolicy, rateLimited } from './rate-limit-policy.ts'

/** Undefined when admitted. A promise only where the shared counts must be asked. */
export type Admission = RateLimited | undefined | Promise<RateLimited | undefined>

export interface RateLimits {
  /** Address, the networks around it, then total. */
  admitAddress(address: string): Admission
  /** Buyer, then item. The buyer must be verified. */
  admitBuyer(buyer: BuyerId, item: ItemId): Admission
}

/** The general limits: whatever is called. They count for this process alone, and answer at once. */
export type CallLimits = ReturnType<typeof createCallLimits>

export interface Rates {
  readonly perAddress: Rate | undefined
  /** Absent: an address counts for itself alone. */
  readonly networks?: NetworkRates | undefined
  readonly perBuyer: Rate | undefined
  readonly perItem: Rate | undefined
  readonly total: Rate | undefined
}

interface Limit {
  refuses(key: string, nowMs: number): RateLimited | undefined
  take(): void
}

export const ITEMS_MAX = 1024
/** So many admissions of a sliding window are remembered one by one. */
const EXACT_MAX = 262_144

export function createRateLimits({
  clock,
  random,
  ...rates
}: Rates & { readonly clock: Clock; readonly random: Random }) {
  function limit(policy: RatePolicy, rate: Rate | undefined, keysMax: number): Limit | undefined {
    if (rate === undefined) return undefined
    const own = createOwnCounts(rate, keysMax, random)
    return {
      refuses: (key: string, nowMs: number) =>
        own.hasRoom(key, nowMs) ? undefined : rateLimited(policy, rate, own.waitMs()),
      take: own.take,
    }
  }

  const layersOf = addressLayers(limit, rates)
  const perBuyer = limit('per-buyer', rates.perBuyer, PEOPLE_MAX)
  const perItem = limit('per-item', rates.perItem, ITEMS_MAX)

  function refusalOf(layers: readonly Layer<Limit>[], address: string, nowMs: number): RateLimited | undefined {
    for (const { limit, keyOf } of layers) {
      const refused = limit.refuses(keyOf(address), nowMs)
      if (refused !== undefined) return refused
    }
    return undefined
  }

  return {
    admitAddress(address: string): RateLimited | undefined {
      const layers = layersOf(address)
      const refused = refusalOf(layers, address, clock.elapsed())
      if (refused === undefined) for (const { limit } of layers) limit.take()
      return refused
    },
    admitBuyer(buyer: BuyerId, item: ItemId): RateLimited | undefined {
      const nowMs = clock.elapsed()
      const refused = perBuyer?.refuses(buyer, nowMs) ?? perItem?.refuses(item, nowMs)
      if (refused !== undefined) return refused
      perBuyer?.take()
      perItem?.take()
      return undefined
    },
  }
}

/** Far beyond what any client does: who has an order always gets it, and a flood of it is still a flood. */
const REPEATS_PER_BUYER: Rate = { count: 500, windowMs: 1_000 }

export function createCallLimits({
  listsPerBuyer,
  ...rates
}: Pick<Rates, 'perAddress' | 'networks' | 'perBuyer'> & {
  readonly listsPerBuyer?: Rate | undefined
  readonly clock: Clock
  readonly random: Random
}) {
  const others = { perItem: undefined, total: undefined }
  const calls = createRateLimits({ ...rates, ...others })
  const ofBuyers = (perBuyer: Rate | undefined) =>
    createRateLimits({ ...rates, ...others, perAddress: undefined, networks: undefined, perBuyer })
  const repeats = ofBuyers(rates.perBuyer && REPEATS_PER_BUYER)
  const lists = ofBuyers(listsPerBuyer)
  return {
    address: (address: string) => calls.admitAddress(address),
    /** The buyer must be verified. */
    buyer: (buyer: BuyerId) => calls.admitBuyer(buyer, ''),
    /** A buyer asks again for an order. */
    repeat: (buyer: BuyerId) => repeats.admitBuyer(buyer, ''),
    /** A buyer asks for a list: it costs the ledger more than one order does. */
    list: (buyer: BuyerId) => lists.admitBuyer(buyer, ''),
  }
}

/** @param edges for a bucket: how many processes divide what flows back */
export function createOwnCounts(rate: Rate, keysMax: number, random: Random, edges = () => 1): OwnCounts {
  const { burst } = rate
  if (burst === undefined) return createSlidingWindow(rate, keysMax, EXACT_MAX, random)
  return createTokenBucket({ ...rate, burst }, keysMax, random, edges)
}
