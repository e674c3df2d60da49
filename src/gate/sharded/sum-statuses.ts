/** The looks at an item's places, as one look at the item. */

import { assert } from '../../base/assert.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { GateState, GateStatus, ShardStatus } from '../gate.ts'

const STRICTNESS: Readonly<Record<GateState, number>> = { open: 0, paused: 1, over: 2 }

/** @param looks at every place of one epoch, each as a place of several */
export function sumLooks(item: ItemId, looks: readonly GateStatus[]): GateStatus {
  const [first, ...rest] = looks
  assert(first !== undefined, `item ${item} without a place`)
  let { version, left, held, buyers, stateNo, state, opensAtMs, closesAtMs, changeNo } = first
  let uneven = false
  for (const one of rest) {
    assert(one.epoch === first.epoch, `item ${item}: a place under epoch ${first.epoch}, another under ${one.epoch}`)
    version += one.version
    left += one.left
    held += one.held
    buyers += one.buyers
    if (STRICTNESS[one.state] > STRICTNESS[state]) state = one.state
    opensAtMs = Math.max(opensAtMs, one.opensAtMs)
    closesAtMs = Math.min(closesAtMs, one.closesAtMs)
    stateNo = Math.min(stateNo, one.stateNo)
    changeNo = Math.min(changeNo, one.changeNo)
    uneven ||= one.state !== first.state || one.changeNo !== first.changeNo || one.stateNo !== first.stateNo
    uneven ||= one.opensAtMs !== first.opensAtMs || one.closesAtMs !== first.closesAtMs
  }
  const places = looks.flatMap(look => look.places ?? [])
  const word = { stateNo, state, opensAtMs, closesAtMs }
  return {
    item,
    epoch: first.epoch,
    version,
    left,
    held,
    buyers,
    ...word,
    changeNo,
    places,
    uneven,
    moving: movingIn(places),
  }
}

/**
 * Units between two places. One move is under way at a time, so it is the highest, and it is open as long as only the place that gave has
 * seen it. Places that were looked at a moment apart may show both halves though only one was there: then nothing is moving any more.
 */
export function movingIn(places: readonly Pick<ShardStatus, 'moveNo' | 'moved'>[]): number {
  let last: Pick<ShardStatus, 'moveNo' | 'moved'> | undefined
  let halves = 0
  for (const place of places) {
    if (last !== undefined && place.moveNo < last.moveNo) continue
    halves = last?.moveNo === place.moveNo ? halves + 1 : 1
    last = place
  }
  return last !== undefined && last.moveNo > 0 && halves === 1 && last.moved < 0 ? -last.moved : 0
}
