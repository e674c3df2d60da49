/**
 * The number of each buyer in a line, in twelve bytes per cell and at most two cells each: 64 bits of keyed hash instead of the buyer. Two buyers with equal
 * hashes (one in 2^64 pairs) would share a number. A buyer's higher number replaces a lower one; none is removed.
 */

/** Hashes `text` under a secret into `low` and `high`, unsigned 32 bits each. */
export interface BuyerHash {
  read(text: string): void
  readonly low: number
  readonly high: number
}

const CELLS_MIN = 1024

export class BuyerNumbers {
  readonly #hash: BuyerHash
  #lows = new Uint32Array(CELLS_MIN)
  #highs = new Uint32Array(CELLS_MIN)
  /** 0: the cell is free. */
  #numbers = new Uint32Array(CELLS_MIN)
  #used = 0

  constructor(hash: BuyerHash) {
    this.#hash = hash
  }

  /** 0: not known. */
  get(buyer: string): number {
    this.#hash.read(buyer)
    return this.#numbers[this.#cellOf(this.#hash.low, this.#hash.high)]!
  }

  set(buyer: string, number: number): void {
    this.#hash.read(buyer)
    const { low, high } = this.#hash
    const at = this.#cellOf(low, high)
    if (this.#numbers[at]! >= number) return
    if (this.#numbers[at] === 0) this.#used += 1
    this.#write(at, low, high, number)
    if (this.#used * 2 > this.#numbers.length) this.#grow()
  }

  get bytes(): number {
    return this.#numbers.byteLength * 3
  }

  #cellOf(low: number, high: number): number {
    const mask = this.#numbers.length - 1
    let at = low & mask
    while (this.#numbers[at] !== 0 && (this.#lows[at] !== low || this.#highs[at] !== high)) at = (at + 1) & mask
    return at
  }

  #write(at: number, low: number, high: number, number: number): void {
    this.#lows[at] = low
    this.#highs[at] = high
    this.#numbers[at] = number
  }

  #grow(): void {
    const [lows, highs, numbers] = [this.#lows, this.#highs, this.#numbers]
    this.#lows = new Uint32Array(numbers.length * 2)
    this.#highs = new Uint32Array(numbers.length * 2)
    this.#numbers = new Uint32Array(numbers.length * 2)
    for (let i = 0; i < numbers.length; i++)
      if (numbers[i] !== 0) this.#write(this.#cellOf(lows[i]!, highs[i]!), lows[i]!, highs[i]!, numbers[i]!)
  }
}
