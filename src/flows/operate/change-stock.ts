/**
 * An operator changes the units of an item, also in mid-sale. Numbered, so that each change happens once in ledger and gate alike.
 *
 * More units: the ledger has them first, then the gate. Fewer: the gate gives up what it has left first, then the ledger takes exactly
 * that; the rest is the shortfall, reported. Dying in between leaves a row that the keeper finishes; if the gate was rebuilt meanwhile,
 * it is asked again, because what the old one gave up is void. Behind a door that was shut with promises on the gate's disk alone (E10)
 * nothing is taken away before they are in the ledger, or an operator has opened the ledger's door.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Gate } from '../../gate/gate.ts'
import type { ChangeWish, OpenChange, Stock, StockChange } from '../../ledger/stock.ts'
import type { UnplacedReservations } from '../follow/unplaced-reservations.ts'

export interface ChangeStockParts {
  readonly gate: Gate
  readonly stock: Stock
  readonly clock: Clock
  /** Undefined: nothing is ever promised outside the ledger. */
  readonly unplaced?: Pick<UnplacedReservations, 'promised'> | undefined
}

type ChangeStockOutcome =
  | { readonly kind: 'done'; readonly change: StockChange }
  | { readonly kind: 'missing' }
  | { readonly kind: 'too_many' }
  /** The same key was used for another change. */
  | { readonly kind: 'key_reused' }
  /** It is recorded, or another change is in the way; asking again with the same key settles it. */
  | { readonly kind: 'busy' }

const TRIES_MAX = 50
const TRY_AGAIN_MS = 20

export async function changeStock(parts: ChangeStockParts, wish: ChangeWish): Promise<ChangeStockOutcome> {
  if (wish.delta < 0 && (await parts.unplaced?.promised(wish.item))) return { kind: 'busy' }
  for (let i = 0; i < TRIES_MAX; i++) {
    const { outcome, no } = await parts.stock.ask(wish)
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
        return finish(parts, wish, no!)
      case 'pending':
        await settleChanges(parts, wish.item)
        break
      case 'moving':
        await parts.clock.sleep(TRY_AGAIN_MS)
    }
  }
  return { kind: 'busy' }
}

async function finish(parts: ChangeStockParts, wish: ChangeWish, no: number): Promise<ChangeStockOutcome> {
  for (let i = 0; i < TRIES_MAX; i++) {
    const change = await parts.stock.find(wish.item, no)
    if (change === undefined) return { kind: 'missing' }
    if (change.delta !== wish.delta || change.reason !== wish.reason) return { kind: 'key_reused' }
    if (change.state === 'done') return { kind: 'done', change }
    await settleChanges(parts, wish.item)
    await parts.clock.sleep(i === 0 ? 0 : TRY_AGAIN_MS)
  }
  return { kind: 'busy' }
}

/** Brings gate and ledger together on every change that is under way, of one item or of all. The keeper does this too. */
export async function settleChanges(parts: ChangeStockParts, item: string | undefined): Promise<void> {
  let away: Fault | undefined
  for (const change of await parts.stock.open(item)) {
    try {
      await settleChange(parts, change)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      // The next change may be of an item whose gate is there.
      away = error
    }
  }
  if (away !== undefined) throw away
}

async function settleChange({ gate, stock, unplaced }: ChangeStockParts, change: OpenChange): Promise<void> {
  const { item, no, delta, epoch, door } = change
  if (door === 'draining') return
  if (door !== 'gate') {
    if (change.state === 'asked' && (await unplaced?.promised(item))) return
    // No gate has it any more: an increase is in the ledger already, and a decrease takes what is available there. Under no gate's
    // epoch: if one is being built meanwhile, that one will be asked, and what no gate gave up is not called given.
    await stock.settle(item, no, 0, 0)
    return
  }
  const reply = await gate.change(item, epoch, no, delta)
  await faultPoint('change.taken')
  // Past: the gate was built from a ledger that had this change. A decrease is only in the ledger once it is settled.
  if (reply.status === 'past' && change.state === 'applied') await stock.settle(item, no, epoch, delta)
  if (reply.status === 'done') await stock.settle(item, no, epoch, reply.taken)
}
