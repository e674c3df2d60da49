/**
 * What the promises are judged by: the facts of gate, outbox and ledger, and what buyers were told. Plain data, gathered by a test, by
 * reconciliation or by the operations page. Facts that were not read are `undefined` or an empty list, and break no promise. And what a broken
 * promise looks like.
 *
 * Two clocks, never compared with each other: the ledger's (order rows) and one monotonic clock of those who asked (`Told`).
 */

import type { BuyerId, Epoch, ItemId } from '../ids.ts'
import type { Door } from '../item.ts'
import type { Order, OrderState } from '../order.ts'
import type { Payment } from '../payment.ts'
import type { SaleRule } from '../sale.ts'

export interface Snapshot {
  /** Nothing is in flight: no ask without its answer, no batch at the gate or the ledger. Sums are exact only then. */
  readonly quiet: boolean
  readonly items: readonly ItemFacts[]
  /** Every order of these items; undefined when the rows were not read. */
  readonly orders: readonly OrderFacts[] | undefined
  readonly told: readonly Told[]
  readonly payments: readonly PaymentFacts[]
  /** What must not grow beyond `max`: queues, batches, caches, waits. */
  readonly bounds: readonly { readonly name: string; readonly value: number; readonly max: number }[]
  /** What refusals have cost. */
  readonly refusals: { readonly refusedAtEdge: number; readonly networkCalls: number }
}

/** A broken promise: which one, what happened, and the ids concerned. */
export interface Violation {
  readonly promise: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8
  readonly message: string
  readonly ids: readonly string[]
}

/** Units of one item, wherever they are. */
export interface ItemFacts {
  readonly item: ItemId
  readonly rule: SaleRule
  readonly units: number
  /** In the ledger. */
  readonly available: number
  /** Units in orders of that state, as the ledger adds them up. */
  readonly pending: number
  readonly paid: number
  /** Undefined while the gate does not have the item. */
  readonly gate: { readonly left: number; readonly held: number } | undefined
  /** Reserved, not yet placed. */
  readonly outbox: number
  /** Back in the ledger, not yet in the gate. */
  readonly releases: number
  /** How long the oldest of these has waited. */
  readonly oldestReleaseMs: number | undefined
  /** Moving between two shards of the gate, left in neither. Undefined: none. */
  readonly moving?: number
  readonly door: Door
  readonly epoch: Epoch
  /** Stock changes as they were applied: `taken` is what one really moved, with the sign of its delta; `atMs` by the ledger's clock. */
  readonly changes: readonly { readonly no: number; readonly taken: number; readonly atMs: number }[]
}

/** The part of an order row that the promises speak of. */
export type OrderFacts = Omit<Order, 'sale' | 'epoch' | 'reservedAtMs' | 'payByMs' | 'version' | 'payment'> & {
  /** Undefined: not shown to the reader of the row. */
  readonly epoch: Epoch | undefined
}

/** One ask and what came back. Times are on one monotonic clock of the askers. */
export interface Told {
  readonly buyer: BuyerId
  readonly item: ItemId
  readonly attempt: number
  readonly quantity: number
  readonly askedAtMs: number
  readonly answeredAtMs: number
  readonly answer: Answer
}

type Answer =
  | { readonly kind: 'placed' | 'reserved' | 'same'; readonly order: ToldOrder }
  | { readonly kind: 'not_enough'; readonly left: number }
  | { readonly kind: 'sold_out' | 'early' | 'paused' | 'over' | 'attempts_used' | 'busy' | 'rate_limited' | 'invalid' }
  /** The connection broke before the answer came: anything may have happened. */
  | { readonly kind: 'unknown' }

export type ToldOrder = Pick<Order, 'id' | 'attempt' | 'quantity'> & { readonly state: OrderState | 'reserved' }

export type PaymentFacts = Pick<Payment, 'order' | 'amount' | 'state'> & {
  /** Minor units of the parts that went back, or are to. Undefined: none. */
  readonly parts?: readonly number[]
}
