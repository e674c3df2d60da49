/** The scripts' replies as the gate's contract has them. Numbers and letters are decoded in one table each, and every value is checked. */

import { assert } from '../../base/assert.ts'
import type { BuyerId, ItemId } from '../../domain/ids.ts'
import type { Ask, AskAnswer, AskCode, ChangeReply, GateStatus, Holding, ReserveReply } from '../gate.ts'
import { STEP_BACK_MS_MAX } from '../step-back.ts'

/** As `lib.lua` numbers them. */
const STATUSES = ['done', 'stale', 'ok', 'early', 'over', 'paused', 'busy', 'gap', 'past', 'held'] as const

/** As `reserve.lua` writes them. */
const ASK_CODES: Readonly<Record<string, AskCode>> = {
  r: 'reserved',
  s: 'same',
  c: 'same_closed',
  n: 'not_enough',
  a: 'attempts_used',
  f: 'id_conflict',
  x: 'not_now',
}

/** One of those that this script may answer. */
export function statusOf<S extends (typeof STATUSES)[number]>(reply: unknown, ...possible: readonly S[]): S {
  const status = possible.find(one => STATUSES.indexOf(one) === reply)
  assert(status !== undefined, `a script answered ${String(reply)} instead of ${possible.join(' or ')}`)
  return status
}

/** An array reply, as a list to read from. */
export function listOf(reply: unknown): readonly unknown[] {
  assert(Array.isArray(reply), `a script answered ${String(reply)} instead of a list`)
  return reply
}

export function wholeOf(value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value
  assert(Number.isSafeInteger(number), `a script answered ${String(value)} instead of a whole number`)
  return number as number
}

export function textOf(value: unknown): string {
  assert(typeof value === 'string', `a script answered ${String(value)} instead of a text`)
  return value
}

/** Undefined: it is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** No gate may ever show less than nothing. */
function unitsOf(value: unknown): number {
  const units = wholeOf(value)
  assert(units >= 0, `the gate shows ${units} units`)
  return units
}

export function reserveReplyFrom(reply: unknown, asks: readonly Ask[]): ReserveReply {
  const [first, epoch, version, left, nowMs, letters, ...existing] = listOf(reply)
  const status = statusOf(first, 'ok', 'early', 'over', 'paused', 'stale', 'busy')
  if (status === 'busy') return { status }
  if (status === 'stale') return { status, epoch: wholeOf(epoch) }
  const codes = textOf(letters)
  assert(codes.length === asks.length, `${asks.length} asks, ${codes.length} answers`)
  const reservedAtMs = wholeOf(nowMs)
  let next = 0
  const answers = asks.map(({ order, quantity }, i): AskAnswer => {
    const code = ASK_CODES[codes[i]!]
    assert(code !== undefined, `a script gave an ask the code "${codes[i]}"`)
    if (code === 'reserved') return { code, order, quantity, reservedAtMs }
    if (code !== 'same' && code !== 'same_closed') return { code, order, quantity, reservedAtMs: 0 }
    const [itsOrder, itsQuantity, at] = existing.slice(next, next + 3)
    next += 3
    return { code, order: textOf(itsOrder), quantity: wholeOf(itsQuantity), reservedAtMs: wholeOf(at) }
  })
  assert(next === existing.length, `${existing.length} values for existing reservations, ${next} of them read`)
  return { status, epoch: wholeOf(epoch), version: wholeOf(version), left: unitsOf(left), answers }
}

/** Of a stock change, or of half a move. */
export function changeReplyFrom(reply: unknown): ChangeReply {
  const [first, value] = listOf(reply)
  const status = statusOf(first, 'done', 'gap', 'past', 'stale')
  if (status === 'stale') return { status }
  return status === 'done' ? { status, taken: wholeOf(value) } : { status, changeNo: wholeOf(value) }
}

/** @param nowMs the clock of the server that answered */
export function statusFrom(item: ItemId, reply: unknown, nowMs: number): GateStatus {
  const [epoch, version, left, held, buyers, state, opensAtMs, closesAtMs, changeNo, stateNo, ...shard] = listOf(reply)
  assert(state === 'open' || state === 'paused' || state === 'over', `an item is "${String(state)}"`)
  const figures = { version: wholeOf(version), left: unitsOf(left), held: unitsOf(held), buyers: wholeOf(buyers) }
  const status: GateStatus = {
    item,
    epoch: wholeOf(epoch),
    ...figures,
    stateNo: wholeOf(stateNo),
    state,
    opensAtMs: wholeOf(opensAtMs),
    closesAtMs: wholeOf(closesAtMs),
    changeNo: wholeOf(changeNo),
  }
  if (shard.length === 0) return status
  const [waited, wants, moveNo, moved] = shard.map(wholeOf) as [number, number, number, number]
  // In the future: written by a clock that was ahead, and has been set right.
  const noted = waited !== 0 && waited - nowMs <= STEP_BACK_MS_MAX
  const waitedMs = noted ? Math.max(0, nowMs - waited) : undefined
  return { ...status, shards: [{ shard: item, ...figures, waitedMs, wants, moveNo, moved }] }
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
