/**
 * The places: a keyed permutation of the join numbers 1 … n. The numbers are sorted by HMAC-SHA-256(key, number in decimal), compared as bytes; equal ones
 * by the lower number. Which numbers there are changes no two buyers' order, so a join that was left is sorted like any other and skipped when it is its turn.
 *
 * A million take about a second. The work is a generator: it yields after each small step, and the caller decides what happens in between.
 */

import { keyedHashOf } from './draw-bytes.ts'

/** More than any line here has; the memory of a draw is 20 bytes for each. */
export const JOINS_MAX = 5_000_000

/** Hashes or moves between two yields: about a millisecond. */
const STEP = 1024
const BUCKETS_MAX = 65_536

/** At [0] the number with place 1, at [1] the number with place 2, … */
export function* drawOrder(key: Uint8Array, count: number): Generator<void, Uint32Array> {
  const high = new Uint32Array(count)
  const low = new Uint32Array(count)
  // By the hash's first bits, so that a bucket holds a few numbers: sorting one takes no time that would be noticed.
  const buckets = Math.min(BUCKETS_MAX, 2 ** Math.ceil(Math.log2(Math.max(count / 8, 1))))
  const width = 2 ** 32 / buckets
  const ends = new Uint32Array(buckets)
  for (let at = 0; at < count; at++) {
    const hash = keyedHashOf(key, String(at + 1))
    high[at] = wordOf(hash, 0)
    low[at] = wordOf(hash, 4)
    ends[Math.floor(high[at]! / width)]! += 1
    if (at % STEP === 0) yield
  }
  for (let bucket = 1; bucket < buckets; bucket++) ends[bucket]! += ends[bucket - 1]!
  const starts = ends.slice()
  const numbers = new Uint32Array(count)
  for (let at = count - 1; at >= 0; at--) {
    const bucket = Math.floor(high[at]! / width)
    starts[bucket]! -= 1
    numbers[starts[bucket]!] = at + 1
    if (at % (STEP * 32) === 0) yield
  }
  const compare = (a: number, b: number) =>
    high[a - 1]! - high[b - 1]! || low[a - 1]! - low[b - 1]! || compareWhole(key, a, b)
  for (let bucket = 0; bucket < buckets; bucket++) {
    numbers.subarray(starts[bucket], ends[bucket]).sort(compare)
    if (bucket % 256 === 0) yield
  }
  return numbers
}

/** The other way round: at [n] the place of number n, counted from 1. [0] is not used. */
export function positionsByNumber(numbers: Uint32Array): Uint32Array {
  const positions = new Uint32Array(numbers.length + 1)
  for (let at = 0; at < numbers.length; at++) positions[numbers[at]!] = at + 1
  return positions
}

function wordOf(hash: Uint8Array, at: number): number {
  return ((hash[at]! << 24) | (hash[at + 1]! << 16) | (hash[at + 2]! << 8) | hash[at + 3]!) >>> 0
}

/** The first eight bytes are the same. */
function compareWhole(key: Uint8Array, a: number, b: number): number {
  return Buffer.compare(keyedHashOf(key, String(a)), keyedHashOf(key, String(b))) || a - b
}
