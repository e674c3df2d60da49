/** Steps in the order of their time, never early: most are known beforehand, some are added during the run. Has no clock of its own. */

export class Schedule<T extends { readonly atMs: number }> {
  readonly #known: readonly T[]
  #next = 0
  /** A heap: the earliest is first. */
  readonly #added: T[] = []

  constructor(known: readonly T[]) {
    this.#known = known.toSorted((a, b) => a.atMs - b.atMs)
  }

  get size(): number {
    return this.#known.length - this.#next + this.#added.length
  }

  add(due: T): void {
    const heap = this.#added
    let at = heap.push(due) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (heap[above]!.atMs <= heap[at]!.atMs) break
      ;[heap[above], heap[at]] = [heap[at]!, heap[above]!]
      at = above
    }
  }

  /** The earliest step that is due. */
  take(nowMs: number): T | undefined {
    const known = this.#known[this.#next]
    const added = this.#added[0]
    const first = known === undefined || (added !== undefined && added.atMs < known.atMs) ? added : known
    if (first === undefined || first.atMs > nowMs) return undefined
    if (first === known) this.#next += 1
    else this.#removeTop()
    return first
  }

  #removeTop(): void {
    const heap = this.#added
    const last = heap.pop()!
    if (heap.length === 0) return
    heap[0] = last
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      if (left >= heap.length) return
      const below = left + 1 < heap.length && heap[left + 1]!.atMs < heap[left]!.atMs ? left + 1 : left
      if (heap[at]!.atMs <= heap[below]!.atMs) return
      ;[heap[below], heap[at]] = [heap[at]!, heap[below]!]
      at = below
    }
  }
}
