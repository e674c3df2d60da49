/** What the two sellers behind the gate's door have in common: what is known of the gate without asking it, and what it holds for a buyer. */

import { Fault } from '../../base/fault.ts'
import type { BuyerId } from '../../domain/ids.ts'
import type { Reservation } from '../../domain/order.ts'
import type { Refusal } from '../../domain/outcomes.ts'
import type { Ask } from '../../gate/gate.ts'
import type { LiveItem } from './live-item.ts'
import type { SellContext } from './sell-context.ts'
import { BUSY, type Decision, type Holdings, OVER, PAUSED, type Seller, SOLD_OUT, standingClosed } from './seller.ts'

export abstract class GateSeller<Context extends SellContext> implements Seller {
  readonly context: Context
  readonly live: LiveItem

  constructor(context: Context, live: LiveItem) {
    this.context = context
    this.live = live
  }

  standing(): Refusal | undefined {
    const { view } = this.context
    const { live } = this
    if (live.skewed) return BUSY
    const status = view.statusNow(live.item.id)
    const nowMs = view.nowMs()
    if (status === undefined || !live.current) return standingClosed(live.sale, nowMs)
    if (status.state === 'over' || nowMs >= status.closesAtMs) return OVER
    if (nowMs < status.opensAtMs) return { kind: 'early', opensAtMs: status.opensAtMs }
    if (status.state === 'paused') return PAUSED
    return status.left === 0 ? SOLD_OUT : undefined
  }

  knows(buyer: BuyerId): boolean {
    return this.context.view.knows(this.live.item.id, buyer)
  }

  left(): number | undefined {
    return this.context.view.statusNow(this.live.item.id)?.left
  }

  async find(buyer: BuyerId, toShow?: boolean): Promise<Holdings | 'unknown'> {
    return findAtGate(this.context, this.live.item.id, this.live.epoch, buyer, toShow)
  }

  abstract refusal(ask: Pick<Ask, 'buyer' | 'attempt' | 'quantity'>): Refusal | undefined
  abstract sell(asks: readonly Ask[]): Promise<readonly Decision[]>
  abstract acknowledge(reservation: Reservation): boolean
  abstract outstanding(): Promise<boolean>
  async settle(): Promise<void> {}
}

/** `epoch` was read before the gate is asked: what it answers is held under this epoch or a later one. */
export async function findAtGate(
  { gate }: Pick<SellContext, 'gate'>,
  item: string,
  epoch: number,
  buyer: BuyerId,
  toShow?: boolean,
): Promise<Holdings | 'unknown'> {
  try {
    const found = await gate.find(item, buyer, toShow)
    return found.status === 'ok' ? { epoch, held: found.holdings } : 'unknown'
  } catch (error) {
    if (error instanceof Fault) return 'unknown'
    throw error
  }
}
