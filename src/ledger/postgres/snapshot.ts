/**
 * A snapshot of PostgreSQL (`pg_snapshot`, written `xmin:xmax:running,…`): which transactions a statement saw. On one server the snapshots of
 * all statements are in one order: what one saw, every later one sees too.
 */

import { assert } from '../../base/assert.ts'

export interface Snapshot {
  readonly text: string
  /** Every transaction from this one on had not ended. */
  readonly end: bigint
  /** How many before `end` had not ended either. */
  readonly running: number
}

export function toSnapshot(text: string): Snapshot {
  const [, end, list] = /^\d+:(\d+):([\d,]*)$/.exec(text) ?? []
  assert(end !== undefined && list !== undefined, `${text} is no snapshot`)
  return { text, end: BigInt(end), running: list === '' ? 0 : list.split(',').length }
}

/** Of two snapshots of one server: did `one` see less than `other`? Transactions only end, so fewer run the later it is. */
export function isOlder(one: Snapshot, other: Snapshot): boolean {
  return one.end < other.end || (one.end === other.end && one.running > other.running)
}
