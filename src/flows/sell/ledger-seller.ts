/**
 * Sells straight into the ledger, behind the `ledger` door: decided and placed in one transaction, door and epoch checked under the item
 * lock (E5, E10). For small sales without a gate, and for all while the gate is away.
 *
 * A semaphore bounds the batches at the ledger over all items. A ledger that does not answer in time is busy for the buyers, and its call
 * keeps its permit until it has ended: what it committed is found by asking again.
 */

import { assert, assertAnswered } from '../../base/assert.ts'
import { atMost } from '../../base/deadline.ts'
import { Fault, onFault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import { OutageLog } from '../../base/outage-log.ts'
import type { Semaphore } from '../../base/semaphore.ts'
import type { BuyerId, ItemId } from '../../domain/ids.ts'
import type { Refusal } from '../../domain/outcomes.ts'
import type { Ask } from '../../gate/gate.ts'
import type { DirectPlacing, DirectReply } from '../../ledger/orders.ts'
import { ClosedSeller } from './closed-seller.ts'
import { decisionOf } from './gate-seller.ts'
import type { LiveItem } from './live-item.ts'
import type { SellContext } from './sell-context.ts'
import { BUSY, type Decision, type Held, SOLD_OUT, standingClosed } from './seller.ts'

export interface LedgerSellContext extends SellContext {
  /** Shared by all items of the process. */
  readonly semaphore: Semaphore
  /** What was read longer ago is not shown: no buyer is refused by it. */
  readonly freshMs: number
  /** Units that the ledger has left now. Undefined: it could not be asked. */
  readonly availableOf: (item: ItemId) => Promise<number | undefined>
}

type Decided = Exclude<DirectReply, { readonly status: 'stale' }>

/** How long a batch waits for its permit and for the ledger before its buyers are told to ask again. */
const PLACE_WAIT_MS = 3_000
/** While it is asked for, what is available is read again after so long. */
const READ_AGAIN_MS = 250
const OUTAGE_TEXTS = {
  event: 'ledger_silent',
  begins: 'the ledger did not answer a batch; its buyers are told to ask again',
  lasts: 'the ledger still does not answer batches',
  ends: 'the ledger answers batches again',
} as const

export class LedgerSeller extends ClosedSeller<LedgerSellContext, LiveItem> {
  readonly #outage = new OutageLog(this.context, { item: this.live.item.id }, OUTAGE_TEXTS)
  /** What was available by the newest answer of the ledger, and when that was asked for. */
  #available = { units: this.live.item.available, atMs: this.live.seenAtMs }
  #reading = false

  override standing(): Refusal | undefined {
    const { sale, current, seenAtMs } = this.live
    const { view, clock, freshMs } = this.context
    const left = this.left()
    const closed = standingClosed(sale, view.nowMs())
    const isSilent = clock.elapsed() - seenAtMs > freshMs
    if (isSilent || !current || closed !== BUSY) return closed
    return left === 0 ? SOLD_OUT : undefined
  }

  /** Nothing here counts buyers: each is looked up in the ledger. */
  override knows(): boolean {
    return true
  }

  override left(): number | undefined {
    const { freshMs, clock } = this.context
    const { units, atMs } = this.#available
    const agoMs = clock.elapsed() - atMs
    if (agoMs > READ_AGAIN_MS && !this.#reading) void this.#readAvailable()
    return agoMs <= freshMs ? units : undefined
  }

  /** Never rejects with a fault: nothing is shown until a later read is answered. */
  async #readAvailable(): Promise<void> {
    const { clock, availableOf } = this.context
    this.#reading = true
    const atMs = clock.elapsed()
    try {
      const units = await onFault(() => availableOf(this.live.item.id))
      if (units !== undefined && atMs > this.#available.atMs) this.#available = { units, atMs }
    } finally {
      this.#reading = false
    }
  }

  override async find(buyer: BuyerId): Promise<readonly Held[]> {
    const orders = await this.context.finder.ofBuyer(this.live.item.id, buyer)
    return orders.map(row => ({ ...row, order: row.id, live: row.state !== 'closed', row }))
  }

  /** Not behind this door, unless an operator opened it while a process had gone without a word (E10). */
  override async outstanding(): Promise<boolean> {
    const { item, epoch } = this.live
    return item.homeDoor !== 'ledger' && this.context.unplaced.unconfirmed(item.id, epoch)
  }

  override async sell(asks: readonly Ask[]): Promise<readonly Decision[]> {
    const { semaphore, clock } = this.context
    let late = false
    const placing = semaphore.run(async () => (late ? undefined : this.#place(asks)))
    const decisions = await atMost(clock, PLACE_WAIT_MS, placing)
    late = true
    return decisions ?? asks.map(() => BUSY)
  }

  /** Never rejects with a fault: the caller may have stopped waiting. */
  async #place(asks: readonly Ask[]): Promise<readonly Decision[]> {
    const { orders, view, clock, meters, onStale } = this.context
    const live = this.live
    const busy = () => asks.map(() => BUSY)
    // The item may have been withdrawn while the batch waited.
    if (!live.current) return busy()
    try {
      const before = faultPoint('place.before')
      if (before) await before
      for (const { trace } of asks) trace?.step('ledger')
      const askedAtMs = clock.elapsed()
      const reservedAtMs = view.nowMs()
      const batch = asks.map(ask => ({ ...ask, reservedAtMs }))
      const reply = await orders.placeDirectly(live.item.id, live.epoch, batch)
      meters.time('ledger_place', clock.elapsed() - askedAtMs)
      meters.size('order_batch', asks.length)
      const after = faultPoint('place.after')
      if (after) await after
      this.#outage.worked()
      if (reply.status !== 'stale') return this.#decide(asks, reply, askedAtMs)
      onStale(live)
      return busy()
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#outage.failed(error, () => ({ asks: asks.length }))
      return busy()
    }
  }

  #decide(asks: readonly Ask[], reply: Decided, askedAtMs: number): readonly Decision[] {
    const { placings, available } = reply
    assertAnswered('the ledger', asks, placings)
    if (askedAtMs > this.#available.atMs) this.#available = { units: available, atMs: askedAtMs }
    return asks.map((ask, i) => this.#decideOne(ask, placings[i]!, reply))
  }

  #decideOne(ask: Ask, placing: DirectPlacing, { status, available }: Decided): Decision {
    const context = this.context
    switch (placing.verdict) {
      case 'placed':
        assert(placing.order.buyer === ask.buyer, `order ${ask.order} was placed for another buyer`)
        context.meters.count('orders', 'placed')
        context.messages.orderChanged(placing.order)
        return { kind: 'placed', order: placing.order }
      case 'same':
        assert(placing.order.buyer === ask.buyer, `order ${placing.order.id} is another buyer's`)
        return { kind: 'same', order: placing.order }
      default:
        return decisionOf(context, this.live, placing.verdict, { status, left: available, order: ask.order })
    }
  }
}
