/**
 * A bucket per key, in fixed memory: it holds `burst`, each admission takes one, and `count` flow back over `windowMs`, evenly.
 *
 * A full bucket has no state at all. A hand goes round the seats, a few at each look, and takes back those whose bucket is full again; so
 * nothing that matters is ever evicted, and strangers who come one after another leave nothing behind.
 *
 * Guarantees:
 *  1. Always: in no interval of t ms are more than `burst + count × t / windowMs` requests of a key admitted. A refused one takes nothing.
 *  2. While there are seats, a key is refused only if less than one is left in its own bucket.
 *  3. While there are none, a new key takes from one of `keysMax / 16` buckets that it shares with the other new ones its hash brings
 *     there. One that gets a seat later begins there with what its shared bucket had used up.
 *
 * Where several processes divide a limit (`edges`), only that part of `count` flows back here which is this one's; what is told of the key
 * (`recent`) is what it would have used up of the whole limit, and of a part never more than what its holder may take without a word.
 */

import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import { createKeyTable } from './key-table.ts'
import type { OwnCounts } from './own-counts.ts'

const KEYS_PER_SHARED_PLACE = 16
/** More than one: the hand must come round sooner than newcomers fill the table. */
const SEATS_PER_LOOK = 4
/** What flows back in many small parts must add up to one. */
const ROUNDING = 1e-9

interface TokenBucketOptions {
  readonly count: number
  readonly windowMs: number
  readonly burst: number
  /** A power of two. */
  readonly keysMax: number
  readonly random: Random
  /** Among how many processes what flows back is divided. */
  readonly edges: () => number
}

export function createTokenBucket(options: TokenBucketOptions): OwnCounts {
  const { burst, keysMax, random, edges } = options
  assert(Number.isInteger(Math.log2(keysMax)), 'the number of keys must be a power of two')
  const perMs = options.count / options.windowMs
  const keys = createKeyTable(keysMax, random)
  const sharedMax = Math.max(1, keysMax / KEYS_PER_SHARED_PLACE)
  /** The keys' own seats, then the shared buckets. What is used up, by what flows back to a part and to the whole. */
  const partUsed = new Float64Array(keysMax + sharedMax)
  const wholeUsed = new Float64Array(keysMax + sharedMax)
  const atMs = new Float64Array(keysMax + sharedMax)
  const isSeated = new Uint8Array(keysMax)
  let hand = 0

  // Whom `hasRoom` was asked about last.
  let nowMs = 0
  let seat = -1
  let shared = 0
  let limit = burst

  function flow(place: number): void {
    const backMs = nowMs - atMs[place]!
    partUsed[place] = Math.max(0, partUsed[place]! - (backMs * perMs) / edges())
    wholeUsed[place] = Math.max(0, wholeUsed[place]! - backMs * perMs)
    atMs[place] = nowMs
  }

  function goRound(): void {
    for (let n = 0; n < SEATS_PER_LOOK; n++) {
      hand = hand + 1 === keysMax ? 0 : hand + 1
      if (isSeated[hand] === 0) continue
      flow(hand)
      if (partUsed[hand]! > 0) continue
      keys.remove(hand)
      isSeated[hand] = 0
    }
  }

  /** Where the key's bucket is. */
  function place(): number {
    return seat < 0 ? shared : seat
  }

  return {
    hasRoom(key, askedMs, limited = burst) {
      nowMs = askedMs
      limit = limited
      goRound()
      seat = keys.find(key)
      shared = keysMax + keys.sharedPlace(sharedMax)
      flow(place())
      return partUsed[place()]! + 1 <= limit + ROUNDING
    },

    take() {
      if (seat < 0 && !keys.isFull) {
        seat = keys.add()
        isSeated[seat] = 1
        partUsed[seat] = partUsed[shared]!
        wholeUsed[seat] = wholeUsed[shared]!
        atMs[seat] = nowMs
      }
      partUsed[place()] = Math.min(burst, partUsed[place()]! + 1)
      wholeUsed[place()] = Math.min(burst, wholeUsed[place()]! + 1)
    },

    waitMs: () => Math.max(0, ((partUsed[place()]! + 1 - limit) * edges()) / perMs),

    recent() {
      const units = Math.max(wholeUsed[place()]!, Math.min(partUsed[place()]!, limit))
      return units > 0 ? [{ ageMs: 0, units }] : []
    },
  }
}
