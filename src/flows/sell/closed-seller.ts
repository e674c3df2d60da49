/** Sells nothing and still finds: the item's door is draining or shut, or the item is not live in this process. */

import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import type { Refusal } from '../../domain/outcomes.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Ask } from '../../gate/gate.ts'
import { findAtGate } from './gate-seller.ts'
import type { SellContext } from './sell-context.ts'
import { BUSY, type Decision, type Holdings, type Seller, standingClosed } from './seller.ts'

type ClosedItem = {
  readonly item: { readonly id: ItemId }
  readonly epoch: Epoch
  readonly sale?: Sale
  readonly skewed?: boolean
}

export class ClosedSeller implements Seller {
  readonly #context: Pick<SellContext, 'gate' | 'view' | 'unplaced'>
  readonly #live: ClosedItem

  /** @param live without a sale where the item is not live here */
  constructor(context: Pick<SellContext, 'gate' | 'view' | 'unplaced'>, live: ClosedItem) {
    this.#context = context
    this.#live = live
  }

  standing(): Refusal {
    const { sale, skewed } = this.#live
    return sale === undefined || skewed ? BUSY : standingClosed(sale, this.#context.view.nowMs())
  }

  knows(buyer: BuyerId): boolean {
    return this.#context.view.knows(this.#live.item.id, buyer)
  }

  refusal(): undefined {
    return undefined
  }

  left(): number | undefined {
    return this.#context.view.statusNow(this.#live.item.id)?.left
  }

  async sell(asks: readonly Ask[]): Promise<readonly Decision[]> {
    return asks.map(() => BUSY)
  }

  find(buyer: BuyerId, toShow?: boolean): Promise<Holdings | 'unknown'> {
    return findAtGate(this.#context, this.#live.item.id, this.#live.epoch, buyer, toShow)
  }

  acknowledge(): boolean {
    return false
  }

  async settle(): Promise<void> {}

  outstanding(): Promise<boolean> {
    return this.#context.unplaced.maybe(this.#live.item.id)
  }
}
