/**
 * Orders by id as buyers poll them: from copies of the ledger's rows in this process, so that a thousand winners who ask again and again cost
 * the ledger a few statements a second. Never a reservation, and never an answer that there is no order: without a copy the ledger is asked,
 * many ids in one statement.
 *
 * Guarantees: a copy is shown for `FRESH_MS` at most, counted from before the ledger was asked. A change made in this process is seen by every
 * read that begins after it: its new row replaces the copy (`orderChanged`), or the copy is dropped (`forget`) before the change is answered;
 * a read that was under way meanwhile leaves no copy. A change made elsewhere is seen when its message arrives, or when the copy has expired.
 * What decides about money reads the ledger itself (`readThrough`), and so brings the copies up to date before it answers.
 * Bounded: `COPIES_MAX` copies, the oldest read goes first.
 */

import { createPacedBatcher } from '../../base/batching/paced-batcher.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { OrderId } from '../../domain/ids.ts'
import { newnessOf, type Order } from '../../domain/order.ts'
import type { Orders } from '../../ledger/orders.ts'

interface Copy {
  order: Order
  /** When the statement that read it was sent. Monotonic, ms. */
  readonly sentAtMs: number
}

const FRESH_MS = 1_000
const COPIES_MAX = 20_000
/** A buyer who polls does not notice it, and so many statements a second are the most that polling costs. */
const READ_EVERY_MS = 50
const IDS_PER_READ_MAX = 1_000
const WAITING_MAX = 20_000
const READS_AT_ONCE_MAX = 4

export class OrderCopies {
  readonly #orders: Pick<Orders, 'find'>
  readonly #clock: Clock
  /** In the order in which they were read. */
  readonly #copies = new Map<OrderId, Copy>()
  /** For each read under way: its orders that have not changed since it was sent. */
  readonly #unchanged = new Set<Set<OrderId>>()
  readonly #reader

  constructor({ orders, clock }: { readonly orders: Pick<Orders, 'find'>; readonly clock: Clock }) {
    this.#orders = orders
    this.#clock = clock
    this.#reader = createPacedBatcher<OrderId, Order | undefined>({
      clock,
      everyMs: READ_EVERY_MS,
      batchMax: IDS_PER_READ_MAX,
      queueMax: WAITING_MAX,
      atOnceMax: READS_AT_ONCE_MAX,
      run: ids => this.#read(ids),
    })
  }

  /** The orders among these ids that the ledger has. */
  async find(ids: readonly OrderId[]): Promise<readonly Order[]> {
    const found = await Promise.all(ids.map(id => this.#fresh(id) ?? this.#reader.join(id) ?? tooMany()))
    return found.filter(order => order !== undefined)
  }

  /** The same orders, read from the ledger; what is read replaces older copies. */
  readThrough(orders: Orders): Orders {
    return {
      ...orders,
      find: async ids => {
        const found = await orders.find(ids)
        for (const order of found) this.orderChanged(order)
        return found
      },
    }
  }

  /** The ledger has this row now. An older one than the copy's changes nothing; one that was read without its payment leaves that as it was. */
  orderChanged(order: Order): void {
    const copy = this.#copies.get(order.id)
    if (copy !== undefined && newnessOf(copy.order) < newnessOf(order))
      copy.order = order.payment === undefined ? { ...order, payment: copy.order.payment } : order
    for (const unchanged of this.#unchanged) unchanged.delete(order.id)
  }

  /** The order has changed, and its new row is not known here. */
  forget(id: OrderId): void {
    this.#copies.delete(id)
    for (const unchanged of this.#unchanged) unchanged.delete(id)
  }

  #fresh(id: OrderId): Order | undefined {
    const copy = this.#copies.get(id)
    return copy !== undefined && this.#clock.elapsed() - copy.sentAtMs < FRESH_MS ? copy.order : undefined
  }

  async #read(ids: readonly OrderId[]): Promise<readonly (Order | undefined)[]> {
    const unchanged = new Set(ids)
    this.#unchanged.add(unchanged)
    const sentAtMs = this.#clock.elapsed()
    try {
      const found = new Map((await this.#orders.find([...unchanged])).map(order => [order.id, order]))
      for (const order of found.values()) if (unchanged.has(order.id)) this.#keep(order, sentAtMs)
      return ids.map(id => found.get(id))
    } finally {
      this.#unchanged.delete(unchanged)
    }
  }

  #keep(order: Order, sentAtMs: number): void {
    const copy = this.#copies.get(order.id)
    // Of two reads that overlap the later one may be answered first.
    if (copy !== undefined && (copy.sentAtMs > sentAtMs || newnessOf(copy.order) > newnessOf(order))) return
    this.#copies.delete(order.id)
    this.#copies.set(order.id, { order, sentAtMs })
    for (const [id, oldest] of this.#copies) {
      if (this.#copies.size <= COPIES_MAX && sentAtMs - oldest.sentAtMs < FRESH_MS) break
      this.#copies.delete(id)
    }
  }
}

function tooMany(): never {
  throw new Fault('line_full', 'too many orders wait to be read', { retryable: true })
}
