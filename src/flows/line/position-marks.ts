/**
 * A mark for each of many positions, and how many are marked between two of them: a bit each, and a count for every 1,024. Grows as needed; a mark is never
 * taken away.
 */

const BITS_PER_BLOCK = 1024
const WORDS_PER_BLOCK = BITS_PER_BLOCK / 32

export class PositionMarks {
  #words = new Uint32Array(WORDS_PER_BLOCK)
  #blocks = new Uint16Array(1)
  count = 0

  has(position: number): boolean {
    return (this.#words[position >>> 5]! & (1 << (position & 31))) !== 0
  }

  /** False: it was marked already. */
  add(position: number): boolean {
    const at = position >>> 5
    if (at >= this.#words.length) this.#grow(at + 1)
    if (this.has(position)) return false
    this.#words[at]! |= 1 << (position & 31)
    this.#blocks[Math.floor(position / BITS_PER_BLOCK)]! += 1
    this.count += 1
    return true
  }

  /** How many of the positions from `from` to before `to` are marked. */
  between(from: number, to: number): number {
    const end = Math.min(to, this.#words.length * 32)
    let count = 0
    for (let at = from; at < end; ) {
      if (at % BITS_PER_BLOCK === 0 && at + BITS_PER_BLOCK <= end) {
        count += this.#blocks[at / BITS_PER_BLOCK]!
        at += BITS_PER_BLOCK
      } else if (at % 32 === 0 && at + 32 <= end) {
        count += ones(this.#words[at >>> 5]!)
        at += 32
      } else {
        if (this.has(at)) count += 1
        at += 1
      }
    }
    return count
  }

  #grow(wordsMin: number): void {
    const blocks = Math.ceil(Math.max(wordsMin, this.#words.length * 2) / WORDS_PER_BLOCK)
    const words = new Uint32Array(blocks * WORDS_PER_BLOCK)
    words.set(this.#words)
    this.#words = words
    const counts = new Uint16Array(blocks)
    counts.set(this.#blocks)
    this.#blocks = counts
  }
}

function ones(bits: number): number {
  let n = bits - ((bits >>> 1) & 0x55555555)
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333)
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
