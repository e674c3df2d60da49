/**
 * What a process holds for an item on sale: its sale, the epoch and the door that the ledger showed, the bounded queue before the gate,
 * and the seller in force. Decides nothing that the gate or the ledger would not decide again.
 *
 * States of an entry of the registry: absent → live(epoch, door) ⇄ withdrawn (`current` is false: the epoch may not sell here) → replaced by
 * an entry with a higher epoch or another door … → absent (the sale is long over).
 */

import type { Batcher } from '../../base/batching/batcher.ts'
import type { BuyerId, Epoch, ItemId, OrderId } from '../../domain/ids.ts'
import type { Door, Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Ask, Lanes } from '../../gate/gate.ts'
import type { PlaceAsk } from '../../ledger/orders.ts'
import type { Decision, Seller } from './seller.ts'

/** What the ledger showed when the entry was made. */
type LiveItemTerms = Pick<LiveItem, 'sale' | 'item' | 'current' | 'skewed' | 'seen'>

/** When the read of the ledger was sent that last showed what was read. Monotonic, ms. One for all entries that the same reads show. */
export interface Seen {
  atMs: number
}

export class LiveItem {
  sale: Sale
  item: Item
  readonly epoch: Epoch
  /** The door the ledger showed together with the epoch. */
  readonly door: Door
  readonly seller: Seller
  readonly queue: Batcher<Ask, Decision>
  /** False from the moment the gate or the ledger called this epoch stale: nothing is sold under it. */
  current: boolean
  /** The gate's clock and the ledger's disagree: whether the sale is open can't be told. */
  skewed: boolean
  /** E2: the reads of the ledger that show this epoch and this door. */
  seen: Seen
  /** When the read of the gate was sent that last showed this epoch active. Monotonic, ms. */
  activeAtMs = Number.NEGATIVE_INFINITY
  /** When this epoch was called stale. Only reads that were sent later, of ledger and gate, bring the item back. */
  staleAtMs: number | undefined = undefined
  /** Batches that are at the gate under this epoch right now. */
  atGate = 0
  /** Reservations taken at the gate in this process that the ledger has not answered for, oldest first. */
  readonly unsettled = new Map<OrderId, PlaceAsk>()
  /** Calls at the ledger with them right now. */
  placing = 0

  constructor(
    terms: LiveItemTerms,
    makeSeller: (live: LiveItem) => Seller,
    makeQueue: (sell: Seller['sell']) => Batcher<Ask, Decision>,
  ) {
    this.sale = terms.sale
    this.item = terms.item
    this.epoch = terms.item.epoch
    this.door = terms.item.door
    this.current = terms.current
    this.skewed = terms.skewed
    this.seen = terms.seen
    this.seller = makeSeller(this)
    this.queue = makeQueue(asks => this.seller.sell(asks))
  }

  /** E2: when the read of the ledger was sent that last showed this epoch and this door. Monotonic, ms. */
  get seenAtMs(): number {
    return this.seen.atMs
  }
}

/** Some who wait have an order already, or press twice: a queue this long beyond twice what is left still has losers only at its end. */
const CROWDED_MIN = 1024

/**
 * Do so many wait that a new ask, which would be decided after all of them, can't win unless most of them lose for another reason? Then it
 * is told to come back, and costs nothing more. That is no "sold out": only the gate says so.
 */
export function isCrowded({ queue, seller }: Pick<LiveItem, 'queue' | 'seller'>): boolean {
  const waiting = queue.depth()
  if (waiting < CROWDED_MIN) return false
  const left = seller.left()
  return left !== undefined && waiting >= 2 * left + CROWDED_MIN
}

export type Registry = Map<ItemId, LiveItem>

/** How long before the opening a request is kept and answered at the opening, instead of being refused. */
export const EARLY_WAIT_MS = 100

/** What is shown of a sale without asking the gate. */
export interface StockView {
  readonly nowMs: () => number
  /** Undefined: not known here; without `anyAge`: not lately. */
  readonly leftOf: (item: ItemId, anyAge?: boolean) => number | undefined
  /** How it can be paid; undefined: at no provider of this process. */
  readonly offersOf?: (sale: Sale) => readonly PaymentOffer[] | undefined
}

interface PaymentOffer {
  readonly provider: string
  readonly methods: readonly { readonly name: string; readonly qr: boolean }[]
}

/** @param clock the gate's, which judges the window */
export function createStockView(
  registry: Registry,
  clock: { nowMs(): number },
  offersOf: StockView['offersOf'] = () => undefined,
): StockView {
  return {
    nowMs: () => clock.nowMs(),
    leftOf: (item, anyAge = false) => registry.get(item)?.seller.left(anyAge),
    offersOf,
  }
}

/**
 * The queue before a gate that decides an item's asks in several lanes: one bounded queue for each, so that a batch is of one lane and lanes
 * do not wait for each other. Together they are as long as one queue would be.
 */
export function createQueues<One extends { readonly buyer: BuyerId }, Answer>(
  lanes: Lanes | undefined,
  queueMax: number,
  make: (queueMax: number) => Batcher<One, Answer>,
): Batcher<One, Answer> {
  if (lanes === undefined || lanes.count === 1) return make(queueMax)
  const queues = Array.from({ length: lanes.count }, () => make(Math.ceil(queueMax / lanes.count)))
  return {
    join: ask => queues[lanes.laneOf(ask.buyer)]!.join(ask),
    depth: () => queues.reduce((sum, queue) => sum + queue.depth(), 0),
    peak() {
      const peaks = queues.map(queue => queue.peak())
      return {
        depth: peaks.reduce((sum, one) => sum + one.depth, 0),
        batch: peaks.reduce((most, one) => Math.max(most, one.batch), 0),
      }
    },
    async drained() {
      await Promise.all(queues.map(queue => queue.drained()))
    },
  }
}
