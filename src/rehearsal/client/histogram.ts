/**
 * Latencies in buckets that grow with the value: exact below 128 µs, within 1.6% above, up to about half an hour. Adding a value allocates
 * nothing, so that counting a hundred thousand a second does not disturb the measurement.
 */

const SUB_BITS = 6
const SUB = 1 << SUB_BITS
const BUCKETS = (31 - SUB_BITS + 1) * SUB
const MICROS_MAX = 2 ** 31 - 1

export class Histogram {
  readonly #counts = new Float64Array(BUCKETS)
  #total = 0
  #maxMs = 0

  get count(): number {
    return this.#total
  }

  get maxMs(): number {
    return this.#maxMs
  }

  add(ms: number): void {
    if (ms > this.#maxMs) this.#maxMs = ms
    const at = bucketOf(Math.min(MICROS_MAX, Math.max(0, Math.round(ms * 1000))))
    this.#counts[at]! += 1
    this.#total += 1
  }

  merge(other: Histogram): void {
    for (let i = 0; i < BUCKETS; i++) this.#counts[i]! += other.#counts[i]!
    this.#total += other.#total
    this.#maxMs = Math.max(this.#maxMs, other.#maxMs)
  }

  /** The upper end, in ms, of the bucket that holds this share (0 to 1) of all values. */
  quantile(share: number): number {
    let missing = Math.ceil(this.#total * share)
    for (let i = 0; i < BUCKETS; i++) {
      missing -= this.#counts[i]!
      if (missing <= 0 && this.#counts[i]! > 0) return Math.min(topOf(i) / 1000, this.#maxMs)
    }
    return this.#maxMs
  }
}

/** The first two octaves are exact; from there each octave has `SUB` buckets of equal width. */
function bucketOf(micros: number): number {
  if (micros < 2 * SUB) return micros
  const shift = 31 - Math.clz32(micros) - SUB_BITS
  return shift * SUB + (micros >> shift)
}

function topOf(bucket: number): number {
  if (bucket < 2 * SUB) return bucket
  const shift = Math.floor(bucket / SUB) - 1
  return (bucket - shift * SUB + 1) * 2 ** shift - 1
}
