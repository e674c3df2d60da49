/**
 * An item's place in the gate, built anew from the ledger under a new epoch. Steps, each a place where the process may die:
 *
 *   1 bump       the epoch goes up and the door is draining, in one update (E3): from here no older epoch is opened again
 *   2 fence      the gate calls every older epoch stale; wait `fenceMs`, so that no edge still trusts an older epoch (E2, E3)
 *   3 snapshot   under the item lock: available, live orders, every attempt's outcome; gate_epoch = ours (E5, E9)
 *   4 activate   only if no higher epoch was seen
 *   5 turn       door = gate, only if the epoch is still ours
 *
 * Dying after any of them leaves an item that nobody sells until the next rebuild, which bumps again; it never continues another's epoch.
 */

import type { Clock } from '../base/clock.ts'
import { faultPoint } from '../base/fault-points.ts'
import type { Epoch, ItemId } from '../domain/ids.ts'
import type { Gate } from '../gate/gate.ts'
import type { Orders } from '../ledger/orders.ts'

interface RebuildParts {
  readonly gate: Gate
  readonly orders: Orders
  readonly clock: Clock
  /** 0 behind an in-process gate: there the acknowledgement is itself the commit that checks the epoch under the item lock. */
  readonly fenceMs: number
}

/** The epoch that now sells, or undefined when somebody else has taken over meanwhile. */
export async function rebuildGate(parts: RebuildParts, item: ItemId): Promise<Epoch | undefined> {
  const { gate, orders, clock, fenceMs } = parts
  const epoch = await orders.bump(item)
  await faultPoint('rebuild.bumped')

  if ((await gate.fence(item, epoch)).status !== 'done') return undefined
  if (fenceMs > 0) await clock.sleep(fenceMs)

  let loaded = true
  const terms = await orders.snapshot(item, epoch, async page => {
    if (loaded) loaded = (await gate.load(item, epoch, page)).status === 'done'
  })
  await faultPoint('rebuild.snapshot')
  if (terms === undefined || !loaded) return undefined

  const { available, ...rest } = terms
  if ((await gate.activate(item, epoch, { ...rest, left: available })).status !== 'done') return undefined
  await faultPoint('rebuild.activated')

  return (await orders.turn(item, epoch, 'gate')) ? epoch : undefined
}
