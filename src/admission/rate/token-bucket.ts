/**
 * A token bucket per key, in fixed memory: it holds `burst`, each admission takes one, and `count` flow back over `windowMs`, evenly.
 *
 * A full bucket has no state at all. A cursor goes round the slots, a few at each call, and frees those whose bucket is full again; so
 * nothing that matters is ever evicted, and keys that come one after another leave nothing behind.
 *
 * Guarantees:
 *  1. Always: in no interval of t ms are more than `burst + count × t / windowMs` requests of a key admitted. A refused one takes nothing.
 *  2. While there are free slots, a key is refused only if less than one is left in its own bucket.
 *  3. While there are none, a new key takes from one of `keysMax / 16` buckets that it shares with other new keys, by its hash. A key that
 *     gets its own slot later begins there with what its shared bucket had used up.
 *
 * Where several processes divide a limit (`edges`), only this one's part of `count` flows back here; what is reported of the key
 * (`recent`) is what it would have used up of the whole limit, and of a part never more than its holder may take without a grant.
 */

import type { Random } from '../../base/random.ts'
import type { Rate } from '../rate-limit-policy.ts'
import { createKeyTable } from './key-table.ts'
import type { OwnCounts } from './own-counts.ts'

/** More than one: the cursor must come round before new keys fill the table. */
const SLOTS_PER_CALL = 4
/** What flows back in many small parts must add up to a whole token. */
const ROUNDING = 1e-9

/** @param edges how many processes divide what flows back */
export function createTokenBucket(
  { count, windowMs, burst }: Required<Rate>,
  keysMax: number,
  random: Random,
  edges: () => number,
): OwnCounts {
  const perMs = count / windowMs
  const keys = createKeyTable(keysMax, random)
  /** What is used up, if a part of `count` flows back and if all of it does. */
  const partUsed = new Float64Array(keys.slotsMax)
  const wholeUsed = new Float64Array(keys.slotsMax)
  const atMs = new Float64Array(keys.slotsMax)
  const isUsed = new Uint8Array(keysMax)
  let cursor = 0

  // The key that `hasRoom` judged last.
  let nowMs = 0
  let own = -1
  let shared = 0
  let limit = burst

  function flow(slot: number): void {
    const backMs = nowMs - atMs[slot]!
    partUsed[slot] = Math.max(0, partUsed[slot]! - (backMs * perMs) / edges())
    wholeUsed[slot] = Math.max(0, wholeUsed[slot]! - backMs * perMs)
    atMs[slot] = nowMs
  }

  function freeFull(): void {
    for (let n = 0; n < SLOTS_PER_CALL; n++) {
      cursor = cursor + 1 === keysMax ? 0 : cursor + 1
      if (isUsed[cursor] === 0) continue
      flow(cursor)
      if (partUsed[cursor]! > 0) continue
      keys.remove(cursor)
      isUsed[cursor] = 0
    }
  }

  function slotOfKey(): number {
    return own < 0 ? shared : own
  }

  return {
    hasRoom(key, askedMs, limited = burst) {
      nowMs = askedMs
      limit = limited
      freeFull()
      own = keys.find(key)
      shared = keys.sharedSlot()
      flow(slotOfKey())
      return partUsed[slotOfKey()]! + 1 <= limit + ROUNDING
    },

    take() {
      if (own < 0 && !keys.isFull) {
        own = keys.add()
        isUsed[own] = 1
        partUsed[own] = partUsed[shared]!
        wholeUsed[own] = wholeUsed[shared]!
        atMs[own] = nowMs
      }
      partUsed[slotOfKey()] = Math.min(burst, partUsed[slotOfKey()]! + 1)
      wholeUsed[slotOfKey()] = Math.min(burst, wholeUsed[slotOfKey()]! + 1)
    },

    waitMs: () => Math.max(0, ((partUsed[slotOfKey()]! + 1 - limit) * edges()) / perMs),

    recent() {
      const units = Math.max(wholeUsed[slotOfKey()]!, Math.min(partUsed[slotOfKey()]!, limit))
      return units > 0 ? [{ ageMs: 0, units }] : []
    },
  }
}
