/**
 * Sells nothing and still finds: the item's door is draining or shut, or the item is not live in this process. The sellers behind the other
 * doors extend it by what they do otherwise.
 */

import { onFault } from '../../base/fault.ts'
import type { BuyerId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Reservation } from '../../domain/order.ts'
import type { Refusal } from '../../domain/outcomes.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Ask } from '../../gate/gate.ts'
import type { SellContext } from './sell-context.ts'
import { BUSY, type Click, type Decision, type Held, type Seller, standingClosed } from './seller.ts'

type ClosedContext = Pick<SellContext, 'gate' | 'view' | 'unplaced'>

interface ClosedItem {
  readonly item: Pick<Item, 'id'>
  /** Undefined where the item is not live here. */
  readonly sale?: Sale
  readonly skewed?: boolean
}

export class ClosedSeller<Context extends ClosedContext = ClosedContext, Live extends ClosedItem = ClosedItem>
  implements Seller
{
  readonly context: Context
  readonly live: Live

  constructor(context: Context, live: Live) {
    this.context = context
    this.live = live
  }

  standing(): Refusal | undefined {
    const { sale, skewed } = this.live
    return sale === undefined || skewed ? BUSY : standingClosed(sale, this.context.view.nowMs())
  }

  knows(buyer: BuyerId): boolean {
    return this.context.view.knows(this.live.item.id, buyer)
  }

  /** Units may come back meanwhile: only a gate in this process can tell without being asked. */
  refusal(_click: Click): Refusal | undefined {
    return undefined
  }

  left(anyAge = false): number | undefined {
    return this.context.view.shown(this.live.item.id, anyAge)?.left
  }

  async sell(asks: readonly Ask[]): Promise<readonly Decision[]> {
    return asks.map(() => BUSY)
  }

  async find(buyer: BuyerId, toShow?: boolean): Promise<readonly Held[] | 'unknown'> {
    const found = await onFault(
      () => this.context.gate.find(this.live.item.id, buyer, toShow),
      () => undefined,
    )
    return found?.status === 'ok' ? found.holdings : 'unknown'
  }

  /** Nothing outside the ledger is told. */
  acknowledge(_reservation: Reservation): boolean {
    return false
  }

  outstanding(): Promise<boolean> {
    return this.context.unplaced.maybe(this.live.item.id)
  }

  async settle(): Promise<void> {}
}
