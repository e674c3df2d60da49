/**
 * Gives each of a bounded number of keys a slot: a small number, the index of arrays that hold the key's state. Keeps 64 bits of keyed
 * hash per key and never the key; two keys with equal hashes (one in 2^64 pairs) would count as one.
 * Behind the keys' own slots lie some that keys share for which there is none.
 * Guarantees: memory is fixed at creation; a slot belongs to one key until it is removed. Does not decide which key is removed.
 */

import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import { createKeyedHash } from './keyed-hash.ts'

const KEYS_PER_SHARED_SLOT = 16

/** @param keysMax a power of two */
export function createKeyTable(keysMax: number, random: Random) {
  assert(Number.isInteger(Math.log2(keysMax)), 'the number of keys must be a power of two')
  const sharedMax = Math.max(1, keysMax / KEYS_PER_SHARED_SLOT)
  const hash = createKeyedHash(random)
  // Open addressing, never more than half full, so that searches stay short. Holds slot + 1; 0 is empty.
  const cells = new Uint32Array(2 ** Math.ceil(Math.log2(keysMax * 2)))
  const mask = cells.length - 1
  const lows = new Uint32Array(keysMax)
  const highs = new Uint32Array(keysMax)
  // Removed slots are used again first, so that memory which is never needed is never touched.
  const removed = new Uint32Array(keysMax)
  let removedCount = 0
  let used = 0

  return {
    /** The key's slot, or -1. */
    find(key: string): number {
      hash.read(key)
      const { low, high } = hash
      for (let at = low & mask; cells[at] !== 0; at = (at + 1) & mask) {
        const slot = cells[at]! - 1
        if (lows[slot] === low && highs[slot] === high) return slot
      }
      return -1
    },

    /** For the key that `find` read last. */
    sharedSlot: () => keysMax + (hash.high & (sharedMax - 1)),
    /** All slots, the shared ones included. */
    slotsMax: keysMax + sharedMax,

    get isFull(): boolean {
      return removedCount === 0 && used === keysMax
    },

    /** Adds the key that `find` read last and did not find. */
    add(): number {
      assert(removedCount > 0 || used < keysMax, 'a key was added to a full table')
      const slot = removedCount > 0 ? removed[--removedCount]! : used++
      lows[slot] = hash.low
      highs[slot] = hash.high
      let at = hash.low & mask
      while (cells[at] !== 0) at = (at + 1) & mask
      cells[at] = slot + 1
      return slot
    },

    remove(slot: number): void {
      let gap = lows[slot]! & mask
      while (cells[gap] !== slot + 1) {
        assert(cells[gap] !== 0, 'a slot was removed that no key has')
        gap = (gap + 1) & mask
      }
      // Entries that were pushed past the gap move up, so that no search ends before its key.
      for (let at = (gap + 1) & mask; cells[at] !== 0; at = (at + 1) & mask) {
        const home = lows[cells[at]! - 1]! & mask
        if (((at - home) & mask) >= ((at - gap) & mask)) {
          cells[gap] = cells[at]!
          gap = at
        }
      }
      cells[gap] = 0
      removed[removedCount++] = slot
    },
  }
}
