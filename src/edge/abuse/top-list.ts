/**
 * The keys that were counted most often, in fixed memory, by the space-saving method: when all places are taken, a new key gets the place of
 * the one with the lowest total, and that total as its possible error. So a key's true count lies between `total - error` and `total`, and a
 * key with more than a `max`-th of all counts is always there, whatever a flood of other keys does. Counting costs a few comparisons.
 */

import { assert } from '../../base/assert.ts'

export interface Top {
  readonly key: string
  readonly total: number
  /** So many of the total may belong to keys that were here before. */
  readonly error: number
  /** By reason, since this key has its place. */
  readonly reasons: readonly number[]
}

export class TopList {
  readonly #max: number
  readonly #reasonsMax: number
  readonly #slots = new Map<string, number>()
  readonly #keys: string[] = []
  readonly #totals: Uint32Array
  readonly #errors: Uint32Array
  readonly #reasons: Uint32Array
  /** Slots, as a heap: the lowest total is at the root. And where each slot is in it. */
  readonly #heap: Uint32Array
  readonly #positions: Uint32Array

  constructor(max: number, reasons: number) {
    this.#max = max
    this.#reasonsMax = reasons
    this.#totals = new Uint32Array(max)
    this.#errors = new Uint32Array(max)
    this.#reasons = new Uint32Array(max * reasons)
    this.#heap = new Uint32Array(max)
    this.#positions = new Uint32Array(max)
  }

  count(key: string, reason: number): void {
    assert(reason >= 0 && reason < this.#reasonsMax, 'a count for a reason that is not known')
    const slot = this.#slots.get(key) ?? this.#add(key)
    const at = slot * this.#reasonsMax + reason
    this.#totals[slot] = this.#totals[slot]! + 1
    this.#reasons[at] = this.#reasons[at]! + 1
    this.#sink(this.#positions[slot]!)
  }

  /** The highest totals first. */
  top(count: number): readonly Top[] {
    return this.#keys
      .map((key, slot) => ({
        key,
        total: this.#totals[slot]!,
        error: this.#errors[slot]!,
        reasons: [...this.#reasons.subarray(slot * this.#reasonsMax, (slot + 1) * this.#reasonsMax)],
      }))
      .sort((a, b) => b.total - a.total)
      .slice(0, count)
  }

  #add(key: string): number {
    let slot = this.#keys.length
    if (slot < this.#max) {
      this.#keys.push(key)
      // Everything before it has been counted at least once: a total of 0 belongs at the root.
      this.#put(slot, slot)
      this.#rise(slot)
    } else {
      slot = this.#heap[0]!
      this.#slots.delete(this.#keys[slot]!)
      this.#keys[slot] = key
      this.#errors[slot] = this.#totals[slot]!
      this.#reasons.fill(0, slot * this.#reasonsMax, (slot + 1) * this.#reasonsMax)
    }
    this.#slots.set(key, slot)
    return slot
  }

  #put(position: number, slot: number): void {
    this.#heap[position] = slot
    this.#positions[slot] = position
  }

  #rise(from: number): void {
    const slot = this.#heap[from]!
    let position = from
    while (position > 0) {
      const parent = (position - 1) >> 1
      if (this.#totals[this.#heap[parent]!]! <= this.#totals[slot]!) break
      this.#put(position, this.#heap[parent]!)
      position = parent
    }
    this.#put(position, slot)
  }

  #sink(from: number): void {
    const slot = this.#heap[from]!
    const total = this.#totals[slot]!
    const used = this.#keys.length
    let position = from
    for (;;) {
      let child = 2 * position + 1
      if (child >= used) break
      if (child + 1 < used && this.#totals[this.#heap[child + 1]!]! < this.#totals[this.#heap[child]!]!) child += 1
      if (this.#totals[this.#heap[child]!]! >= total) break
      this.#put(position, this.#heap[child]!)
      position = child
    }
    this.#put(position, slot)
  }
}
