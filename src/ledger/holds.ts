/**
 * Where unpaid orders came from: the network and the claims behind them, of sales that limit holds. Written after the order, best effort; nothing
 * about an order depends on it.
 */

import type { BuyerId, ItemId, OrderId, SaleId } from '../domain/ids.ts'

interface Origin {
  /** As people write it; empty: not known. */
  readonly network: string
  /** `name-hash` of each claim. */
  readonly marks: readonly string[]
}

export interface HoldOrigin extends Origin {
  readonly order: OrderId
  readonly item: ItemId
  /** How long it may count, with the time after an unpaid end. */
  readonly forMs: number
}

interface Attempt {
  readonly item: ItemId
  readonly buyer: BuyerId
  readonly attempt: number
  readonly quantity: number
}

interface StandingHold extends Attempt, Origin {
  /** It counts so long from now on. */
  readonly forMs: number
}

export interface ListedHold extends Attempt, Origin {
  readonly order: OrderId
  readonly placedAtMs: number
  readonly payByMs: number
}

export interface HoldGroup {
  readonly subject: 'network' | 'claim'
  readonly value: string
  readonly orders: number
  readonly quantity: number
}

interface HoldQuery {
  readonly sale: SaleId
  readonly network?: string | undefined
  readonly mark?: string | undefined
  readonly buyer?: BuyerId | undefined
  readonly after?: OrderId | undefined
  readonly limit: number
}

export interface Holds {
  write(origins: readonly HoldOrigin[]): Promise<void>
  /** Live unpaid orders, and those that ended unpaid at most so long ago; undefined: as long as there was to pay. */
  ofSale(sale: SaleId, unpaidCountsMs: number | undefined, max: number): Promise<readonly StandingHold[]>
  /** Live unpaid orders by id. */
  list(query: HoldQuery): Promise<readonly ListedHold[]>
  /** The most units first. */
  groups(sale: SaleId, max: number): Promise<readonly HoldGroup[]>
  /** Deletes what counts no more. */
  sweep(max: number): Promise<void>
}
