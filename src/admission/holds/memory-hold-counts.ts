/**
 * The counts of this process. Exact; lost with the process. Holds that have ended are taken out when a subject seems full, at most once in
 * `SWEEP_MS`: a refusal costs no walk through all holds, and is at most so late in seeing that there is room again. Where no subject is ever
 * full, once in `SWEEP_ANYWAY_MS`: memory is bounded by what counted in that time.
 * Bounded: beyond `BOOKS_MAX` books the one that was loaded first is forgotten, and read again when it is asked for.
 */

import type { Clock } from '../../base/clock.ts'
import { type Hold, type HoldCounts, type HoldTaken, TAKEN, UNREAD } from '../hold-counts.ts'

interface Counted {
  readonly units: number
  readonly keys: readonly string[]
  untilMs: number
}

interface Book {
  readonly holds: Map<string, Counted>
  readonly used: Map<string, number>
  sweptAtMs: number
}

const SWEEP_MS = 50
const SWEEP_ANYWAY_MS = 60_000
const BOOKS_MAX = 256

export class MemoryHoldCounts implements HoldCounts {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #books = new Map<string, Book>()

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  take(name: string, hold: Hold, maxima: readonly number[]): HoldTaken {
    const book = this.#books.get(name)
    if (book === undefined) return UNREAD
    const nowMs = this.#clock.elapsed()
    const known = book.holds.get(hold.id)
    const counted = known !== undefined && known.untilMs > nowMs ? known : undefined
    if (counted !== undefined && counted.units >= hold.units) return TAKEN
    if (known !== undefined && counted === undefined) drop(book, hold.id, known)
    let at = fullAt(book, hold, maxima, counted)
    if (nowMs - book.sweptAtMs >= (at >= 0 ? SWEEP_MS : SWEEP_ANYWAY_MS)) {
      for (const [id, one] of book.holds) if (one.untilMs <= nowMs) drop(book, id, one)
      book.sweptAtMs = nowMs
      at = fullAt(book, hold, maxima, counted)
    }
    if (at >= 0) return { kind: 'full', at }
    if (counted !== undefined) drop(book, hold.id, counted)
    add(book, hold, Math.max(nowMs + hold.forMs, counted?.untilMs ?? 0))
    return TAKEN
  }

  async keep(name: string, ids: readonly string[], forMs: number, withinMs = Number.POSITIVE_INFINITY): Promise<true> {
    const book = this.#books.get(name)
    for (const id of ids) {
      const known = book?.holds.get(id)
      if (known === undefined || known.untilMs > this.#clock.elapsed() + withinMs) continue
      if (forMs > 0) known.untilMs = this.#clock.elapsed() + forMs
      else drop(book!, id, known)
    }
    return true
  }

  async load(name: string, holds: readonly Hold[]): Promise<boolean> {
    let book = this.#books.get(name)
    if (book === undefined) {
      book = { holds: new Map(), used: new Map(), sweptAtMs: Number.NEGATIVE_INFINITY }
      for (const oldest of this.#books.keys()) if (this.#books.size >= BOOKS_MAX) this.#books.delete(oldest)
      this.#books.set(name, book)
    }
    const nowMs = this.#clock.elapsed()
    for (const hold of holds) if (!book.holds.has(hold.id)) add(book, hold, nowMs + hold.forMs)
    return true
  }
}

/** @param counted what the hold counts for already */
function fullAt({ used }: Book, { keys, units }: Hold, maxima: readonly number[], counted?: Counted): number {
  const own = (key: string) => (counted?.keys.includes(key) ? counted.units : 0)
  return keys.findIndex((key, i) => (used.get(key) ?? 0) - own(key) + units > maxima[i]!)
}

function add({ holds, used }: Book, { id, units, keys }: Hold, untilMs: number): void {
  holds.set(id, { units, keys, untilMs })
  for (const key of keys) used.set(key, (used.get(key) ?? 0) + units)
}

function drop({ holds, used }: Book, id: string, { units, keys }: Counted): void {
  holds.delete(id)
  for (const key of keys) {
    const left = (used.get(key) ?? 0) - units
    if (left > 0) used.set(key, left)
    else used.delete(key)
  }
}
