/** The scripts' replies as the gate's contract has them. Every value is checked. */

import { assert } from '../../base/assert.ts'
import type { BuyerId, ItemId } from '../../domain/ids.ts'
import type { Ask, AskAnswer, ChangeReply, Done, GateState, GateStatus, Holding, ReserveReply } from '../gate.ts'
import type { LoadedReply, MoveReply } from '../sharded/shard-gate.ts'
import { STEP_BACK_MS_MAX } from '../step-back.ts'
import { askCodeOf, listOf, statusOf, textOf, wholeOf } from './codes.ts'

export function doneFrom(reply: unknown): Done {
  const status = statusOf(reply)
  assert(status === 'done' || status === 'stale', `a script answered ${status}`)
  return { status }
}

export function reserveReplyFrom(reply: unknown, asks: readonly Ask[]): ReserveReply {
  const [first, epoch, version, left, nowMs, letters, ...existing] = listOf(reply)
  const status = statusOf(first)
  switch (status) {
    case 'busy':
      return { status }
    case 'stale':
      return { status, epoch: wholeOf(epoch) }
    case 'ok':
    case 'early':
    case 'over':
    case 'paused':
      break
    default:
      assert(false, `reserve answered ${status}`)
  }
  const codes = textOf(letters)
  assert(codes.length === asks.length, `${asks.length} asks, ${codes.length} answers`)
  const reservedAtMs = wholeOf(nowMs)
  let next = 0
  const answers = asks.map(({ order, quantity }, i): AskAnswer => {
    const code = askCodeOf(codes[i] as string)
    if (code === 'reserved') return { code, order, quantity, reservedAtMs }
    if (code !== 'same' && code !== 'same_closed') return { code, order, quantity, reservedAtMs: 0 }
    const [itsOrder, itsQuantity, at] = existing.slice(next, next + 3)
    next += 3
    return { code, order: textOf(itsOrder), quantity: wholeOf(itsQuantity), reservedAtMs: wholeOf(at) }
  })
  assert(next === existing.length, `${existing.length} values for existing reservations, ${next} of them read`)
  return { status, epoch: wholeOf(epoch), version: wholeOf(version), left: leftOf(left), answers }
}

export function changeReplyFrom(reply: unknown): ChangeReply {
  const [first, value] = listOf(reply)
  const status = statusOf(first)
  switch (status) {
    case 'done':
      return { status, taken: wholeOf(value) }
    case 'gap':
    case 'past':
      return { status, changeNo: wholeOf(value) }
    case 'stale':
      return { status }
    default:
      assert(false, `change answered ${status}`)
  }
}

export function moveReplyFrom(reply: unknown): MoveReply {
  const [first, value] = listOf(reply)
  const status = statusOf(first)
  switch (status) {
    case 'done':
      return { status, taken: wholeOf(value) }
    case 'past':
      return { status, moveNo: wholeOf(value) }
    case 'stale':
      return { status }
    default:
      assert(false, `move answered ${status}`)
  }
}

export function loadedReplyFrom(reply: unknown): LoadedReply {
  const [first, held, buyers] = listOf(reply)
  const status = statusOf(first)
  switch (status) {
    case 'ok':
      return { status, held: wholeOf(held), buyers: wholeOf(buyers) }
    case 'done':
      return { status: 'active' }
    case 'stale':
      return { status }
    default:
      assert(false, `loaded answered ${status}`)
  }
}

/** @param nowMs the clock of the server that answered */
export function statusFrom(item: ItemId, reply: unknown, nowMs: number): GateStatus {
  const [epoch, version, left, held, buyers, state, opensAtMs, closesAtMs, changeNo, stateNo, ...shard] = listOf(reply)
  const status: GateStatus = {
    item,
    epoch: wholeOf(epoch),
    version: wholeOf(version),
    left: leftOf(left),
    held: leftOf(held),
    buyers: wholeOf(buyers),
    stateNo: wholeOf(stateNo),
    state: stateOf(state),
    opensAtMs: wholeOf(opensAtMs),
    closesAtMs: wholeOf(closesAtMs),
    changeNo: wholeOf(changeNo),
  }
  if (shard.length === 0) return status
  const [waited, wants, moveNo, moved] = shard.map(wholeOf) as [number, number, number, number]
  // In the future: written by a clock that was ahead, and has been set right.
  const noted = waited !== 0 && waited - nowMs <= STEP_BACK_MS_MAX
  const waitedMs = noted ? Math.max(0, nowMs - waited) : undefined
  const shown = { version: status.version, left: status.left, held: status.held, buyers: status.buyers }
  return { ...status, shards: [{ shard: item, ...shown, waitedMs, wants, moveNo, moved }] }
}

/** A buyer's field: `attempt,order,quantity,live,reservedAtMs;` for each attempt. By attempt number. */
export function holdingsFrom(buyer: BuyerId, packed: string): Holding[] {
  const holdings = packed
    .split(';')
    .slice(0, -1)
    .map((one): Holding => {
      const [attempt, order, quantity, live, at] = one.split(',')
      return {
        order: textOf(order),
        buyer,
        attempt: wholeOf(attempt),
        quantity: wholeOf(quantity),
        live: live === '1',
        reservedAtMs: wholeOf(at),
      }
    })
  return holdings.sort((one, other) => one.attempt - other.attempt)
}

/** No gate may ever show less than nothing. */
function leftOf(value: unknown): number {
  const left = wholeOf(value)
  assert(left >= 0, `the gate shows ${left} units`)
  return left
}

function stateOf(value: unknown): GateState {
  assert(value === 'open' || value === 'paused' || value === 'over', `an item is "${String(value)}"`)
  return value
}
