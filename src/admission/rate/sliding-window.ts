/**
 * Counts requests per key over a sliding window, in fixed memory.
 *
 * All admissions of all keys are in one log, oldest first; each key has its count and a linked list through its own entries. Each call
 * drops entries older than a window from the log's end. A key without an admission in its window has no state at all, so nothing that
 * matters is ever evicted, and a million addresses that come one after another leave nothing behind.
 *
 * Guarantees, for a rate of `count` in `windowMs`:
 *  1. Always, at any load: in no interval [t, t + windowMs) are more than `count` requests of a key admitted. A refused one is not
 *     counted.
 *  2. While the log holds at most `exactMax` admissions: a request admitted at t stops counting at exactly t + windowMs, and a key is
 *     refused only if `count` of its own count. So a client that keeps to the rate, steadily or in bursts, is never refused.
 *  3. Beyond that, neighbouring admissions of a key are one entry that ages with its youngest: a request stops counting up to a
 *     `1/slices` window late. This holds until a window after the log is below `exactMax` again.
 *  4. While `keysMax` keys are in their windows, a new one is counted in one of `keysMax / 16` slots that it shares with other new keys,
 *     by its hash, with `count` for all of them. Keys with a slot of their own are not affected. When slots are free again the sharing
 *     ends; for one more window, a key that may have been counted there has that slot's count on top of its own (1 holds for it too).
 *
 * Does not read a clock: times come from the caller, and never go back.
 */

import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import type { Rate } from '../rate-limit-policy.ts'
import { createKeyTable } from './key-table.ts'
import type { OwnCounts, Slice } from './own-counts.ts'

const SLICES_MIN = 4
const SLICES_MAX = 1024

export function createSlidingWindow(
  { count, windowMs }: Rate,
  keysMax: number,
  exactMax: number,
  random: Random,
): OwnCounts {
  const keys = createKeyTable(keysMax, random)
  const { slotsMax } = keys
  const slices = Math.min(SLICES_MAX, Math.max(SLICES_MIN, Math.floor(exactMax / slotsMax)))
  const sliceMs = windowMs / slices

  // The log, a ring. An entry leaves it at most a window and a slice after it began, and beyond `exactMax` those of one slot begin a slice
  // apart: never more than slices + 1 of them at a time. So it can't run full.
  const logMax = exactMax + slotsMax * (slices + 1)
  const youngestMs = new Float64Array(logMax)
  const admitted = new Uint32Array(logMax)
  const slotOf = new Uint32Array(logMax)
  const nextOfSlot = new Uint32Array(logMax)
  let head = 0
  let logged = 0

  const counted = new Uint32Array(slotsMax)
  const oldest = new Uint32Array(slotsMax)
  const newest = new Uint32Array(slotsMax)
  const newestBeganMs = new Float64Array(slotsMax)
  /** Until then the key may have admissions in its shared slot, from before it had its own. */
  const sharesUntilMs = new Float64Array(keysMax)

  // The key that `hasRoom` judged last.
  let nowMs = 0
  let slot = -1
  let shared = 0

  function dropOld(): void {
    while (logged > 0 && nowMs - youngestMs[head]! >= windowMs) {
      const owner = slotOf[head]!
      counted[owner] = counted[owner]! - admitted[head]!
      if (counted[owner] > 0) oldest[owner] = nextOfSlot[head]!
      else if (owner < keysMax) keys.remove(owner)
      head = head + 1 === logMax ? 0 : head + 1
      logged -= 1
    }
  }

  function isSharing(): boolean {
    return slot < 0 || nowMs < sharesUntilMs[slot]!
  }

  function log(owner: number): void {
    counted[owner] = counted[owner]! + 1
    if (logged >= exactMax && counted[owner] > 1 && nowMs - newestBeganMs[owner]! < sliceMs) {
      const entry = newest[owner]!
      admitted[entry] = admitted[entry]! + 1
      youngestMs[entry] = nowMs
      return
    }
    assert(logged < logMax, 'the log of admissions ran full')
    const entry = head + logged < logMax ? head + logged : head + logged - logMax
    logged += 1
    youngestMs[entry] = nowMs
    admitted[entry] = 1
    slotOf[entry] = owner
    if (counted[owner] === 1) oldest[owner] = entry
    else nextOfSlot[newest[owner]!] = entry
    newest[owner] = entry
    newestBeganMs[owner] = nowMs
  }

  return {
    hasRoom(key, atMs, limit = count) {
      nowMs = atMs
      dropOld()
      slot = keys.find(key)
      shared = keys.sharedSlot()
      return (slot < 0 ? 0 : counted[slot]!) + (isSharing() ? counted[shared]! : 0) < limit
    },

    take() {
      if (slot < 0 && !keys.isFull) {
        slot = keys.add()
        sharesUntilMs[slot] = counted[shared]! > 0 ? nowMs + windowMs : nowMs
      }
      log(slot < 0 ? shared : slot)
    },

    waitMs() {
      let until = Number.POSITIVE_INFINITY
      if (slot >= 0) until = youngestMs[oldest[slot]!]! + windowMs
      if (isSharing() && counted[shared]! > 0) until = Math.min(until, youngestMs[oldest[shared]!]! + windowMs)
      return Math.max(0, until - nowMs)
    },

    recent(slicesMax) {
      const entries: Slice[] = []
      for (const owner of isSharing() ? [slot, shared] : [slot]) {
        let left = owner < 0 ? 0 : counted[owner]!
        for (let entry = left > 0 ? oldest[owner]! : 0; left > 0; entry = nextOfSlot[entry]!) {
          entries.push({ ageMs: nowMs - youngestMs[entry]!, units: admitted[entry]! })
          left -= admitted[entry]!
        }
      }
      return inSlices(entries, slicesMax)
    },
  }
}

/** Merges neighbours until there are few enough: each but the last holds at least an equal part of the whole. */
function inSlices(entries: readonly Slice[], slicesMax: number): readonly Slice[] {
  const sorted = entries.toSorted((a, b) => b.ageMs - a.ageMs)
  if (entries.length <= slicesMax) return sorted
  const each = Math.ceil(entries.reduce((sum, { units }) => sum + units, 0) / slicesMax)
  const slices: Slice[] = []
  for (const { ageMs, units } of sorted) {
    const last = slices.at(-1)
    if (last === undefined || last.units >= each) slices.push({ ageMs, units })
    else slices[slices.length - 1] = { ageMs, units: last.units + units }
  }
  return slices
}
