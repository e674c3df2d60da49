/**
 * Gives each of a bounded number of keys a seat, a small number under which arrays hold what is known of it. Keeps 64 bits of keyed hash
 * per key and never the key; two keys that met by chance (one in 2^64 pairs) would count as one.
 * Guarantees: memory is fixed at creation; a seat belongs to one key until it is given back. Does not decide who has to leave.
 */

import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import { createKeyedHash } from './keyed-hash.ts'

interface KeyTable {
  /** The key's seat, or -1. */
  find(key: string): number
  /** More of the hash of the key that was last looked for: its place among `count` (a power of two) shared ones. */
  sharedPlace(count: number): number
  readonly isFull: boolean
  /** Seats the key that was last looked for and has none. */
  add(): number
  remove(seat: number): void
}

export function createKeyTable(keysMax: number, random: Random): KeyTable {
  const hash = createKeyedHash(random)
  // Never more than half full, so that searches stay short. Holds seat + 1; 0 is empty.
  const places = new Uint32Array(2 ** Math.ceil(Math.log2(keysMax * 2)))
  const mask = places.length - 1
  const lows = new Uint32Array(keysMax)
  const highs = new Uint32Array(keysMax)
  // Seats given back are taken first: what is never needed at once is never touched.
  const returned = new Uint32Array(keysMax)
  let returnedCount = 0
  let opened = 0

  return {
    find(key) {
      hash.read(key)
      const { low, high } = hash
      for (let at = low & mask; places[at] !== 0; at = (at + 1) & mask) {
        const seat = places[at]! - 1
        if (lows[seat] === low && highs[seat] === high) return seat
      }
      return -1
    },

    sharedPlace: count => hash.high & (count - 1),

    get isFull() {
      return returnedCount === 0 && opened === keysMax
    },

    add() {
      assert(returnedCount > 0 || opened < keysMax, 'a key was to be seated in a full table')
      const seat = returnedCount > 0 ? returned[--returnedCount]! : opened++
      lows[seat] = hash.low
      highs[seat] = hash.high
      let at = hash.low & mask
      while (places[at] !== 0) at = (at + 1) & mask
      places[at] = seat + 1
      return seat
    },

    remove(seat) {
      let gap = lows[seat]! & mask
      while (places[gap] !== seat + 1) {
        assert(places[gap] !== 0, 'a seat was given back that nobody has')
        gap = (gap + 1) & mask
      }
      // Whoever was pushed past the gap moves up, so that no search ends before its key.
      for (let at = (gap + 1) & mask; places[at] !== 0; at = (at + 1) & mask) {
        const home = lows[places[at]! - 1]! & mask
        if (((at - home) & mask) >= ((at - gap) & mask)) {
          places[gap] = places[at]!
          gap = at
        }
      }
      places[gap] = 0
      returned[returnedCount++] = seat
    },
  }
}
