/**
 * An operator changes the units of an item, also during the sale. Changes are numbered, so that each is applied once in ledger and gate.
 *
 * More units: first in the ledger, then in the gate. Fewer: the gate gives up what it has left, then the ledger takes exactly that; the
 * rest is reported as shortfall. After a crash the keeper finishes the row. If the gate was rebuilt meanwhile, the new one is asked: what
 * the old one gave up is void. While the door is shut because acknowledged reservations may exist only on the gate's disk (E10), nothing
 * is taken away until they are in the ledger, or an operator has set the door to `ledger`.
 */

import { eachOf } from '../../base/each-of.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { ChangeWish, OpenChange, StockChange } from '../../ledger/stock.ts'
import type { OperateContext } from './operate-context.ts'

type StockContext = Pick<OperateContext, 'gate' | 'stock' | 'clock' | 'unplaced'>

type ChangeStockOutcome =
  | { readonly kind: 'done'; readonly change: StockChange }
  /**
   * key_reused: the same key was used for another change.
   * busy: the change is recorded, or another one is under way; a retry with the same key settles it.
   */
  | { readonly kind: 'missing' | 'too_many' | 'key_reused' | 'busy' }

const TRIES_MAX = 50
const TRY_AGAIN_MS = 20

export async function changeStock(context: StockContext, wish: ChangeWish): Promise<ChangeStockOutcome> {
  for (let i = 0; i < TRIES_MAX; i++) {
    const promised = wish.delta < 0 ? await context.unplaced?.promised(wish.item) : undefined
    if (promised?.holds) return { kind: 'busy' }
    const { outcome, no } = await context.stock.ask(wish, promised?.rights)
    await faultPoint('change.asked')
    switch (outcome) {
      case 'no_item':
        return { kind: 'missing' }
      case 'too_many':
        return { kind: 'too_many' }
      case 'asked':
      case 'applied':
      case 'done':
      case 'same':
        return finish(context, wish, no!)
      case 'pending':
        await settleChanges(context, wish.item)
        break
      case 'moving':
        await context.clock.sleep(TRY_AGAIN_MS)
    }
  }
  return { kind: 'busy' }
}

async function finish(context: StockContext, wish: ChangeWish, no: number): Promise<ChangeStockOutcome> {
  for (let i = 0; i < TRIES_MAX; i++) {
    const change = await context.stock.find(wish.item, no)
    if (change === undefined) return { kind: 'missing' }
    if (change.delta !== wish.delta || change.reason !== wish.reason) return { kind: 'key_reused' }
    if (change.state === 'done') return { kind: 'done', change }
    await settleChanges(context, wish.item)
    await context.clock.sleep(i === 0 ? 0 : TRY_AGAIN_MS)
  }
  return { kind: 'busy' }
}

/** Applies every open change to gate and ledger, of one item or of all. The keeper calls it too. */
export async function settleChanges(context: StockContext, item: ItemId | undefined): Promise<void> {
  // The gate of the next change's item may be reachable.
  await eachOf(await context.stock.open(item), 1, change => settleChange(context, change))
}

async function settleChange({ gate, stock, unplaced }: StockContext, change: OpenChange): Promise<void> {
  const { item, no, delta, epoch, door } = change
  if (door === 'draining') return
  const promised = change.state === 'asked' ? await unplaced?.promised(item) : undefined
  if (promised?.holds || (promised?.rights?.door ?? door) !== door) return
  if (door !== 'gate') {
    // No gate has the item: an increase is in the ledger already, and a decrease takes what is available there. Epoch 0 is no gate's: if a
    // gate is being built meanwhile, it will be asked, and nothing counts as given up by a gate that did not give it up.
    await stock.settle(item, no, 0, 0, promised?.rights)
    return
  }
  const reply = await gate.change(item, epoch, no, delta)
  await faultPoint('change.taken')
  // Past: the gate was built from a ledger that had this change. A decrease is in the ledger only once it is settled.
  if (reply.status === 'past' && change.state === 'applied') await stock.settle(item, no, epoch, delta)
  if (reply.status === 'done') await stock.settle(item, no, epoch, reply.taken, promised?.rights)
}
