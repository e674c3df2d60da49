/**
 * Latencies in buckets that grow with the value: each is 1.1% wider than the one before, from a microsecond up to about half an hour.
 * Adding a value allocates nothing, so that counting a hundred thousand a second does not disturb the measurement.
 */

const PER_OCTAVE = 64
const BUCKETS = 31 * PER_OCTAVE

export class Histogram {
  readonly #counts = new Float64Array(BUCKETS)
  count = 0
  maxMs = 0

  add(ms: number): void {
    if (ms > this.maxMs) this.maxMs = ms
    const at = Math.floor(Math.log2(Math.max(1, ms * 1000)) * PER_OCTAVE)
    this.#counts[Math.min(at, BUCKETS - 1)]! += 1
    this.count += 1
  }

  merge(other: Histogram): void {
    for (let i = 0; i < BUCKETS; i++) this.#counts[i]! += other.#counts[i]!
    this.count += other.count
    this.maxMs = Math.max(this.maxMs, other.maxMs)
  }

  /** The upper end, in ms, of the bucket that holds this share (0 to 1) of all values. */
  quantile(share: number): number {
    let missing = Math.ceil(this.count * share)
    for (let i = 0; i < BUCKETS; i++) {
      missing -= this.#counts[i]!
      if (missing <= 0 && this.#counts[i]! > 0) return Math.min(2 ** ((i + 1) / PER_OCTAVE) / 1000, this.maxMs)
    }
    return this.maxMs
  }
}
