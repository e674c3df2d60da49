/**
 * The keys of one limit that this edge counts together with the others, because one of them has admitted more than its free part.
 * Bounded: a key not asked about for `keepMs` is forgotten, and beyond `keysMax` no key is added.
 *
 * States of a key: cold (not in here) → asked → joined, and cold again when it is forgotten. It stays here for longer than the shared
 * counts regard this edge as joined, so that nothing is admitted freely for which no part is kept back.
 */

export interface HotKey {
  readonly id: string
  /** Granted and not used yet, valid until `allowanceUntilMs`. */
  allowance: number
  allowanceUntilMs: number
  /** Until then none is granted. */
  fullUntilMs: number
  /** The pause before the next question while other edges have not joined yet; 0: all have. */
  joinPauseMs: number
  /** Requests that wait for an answer. */
  waiting: number
  joined: boolean
  /** Admitted here without a grant, and not reported yet. */
  late: number
  isRefilling: boolean
  touchedMs: number
}

export class HotKeys {
  readonly #keysMax: number
  readonly #keepMs: number
  /** Least recently touched first. */
  readonly #keys = new Map<string, HotKey>()

  constructor(keysMax: number, keepMs: number) {
    this.#keysMax = keysMax
    this.#keepMs = keepMs
  }

  find(id: string, nowMs: number): HotKey | undefined {
    if (this.#keys.size === 0) return undefined
    const key = this.#keys.get(id)
    return key === undefined || this.#isOld(key, nowMs) ? undefined : key
  }

  /** Undefined: there are too many. */
  findOrAdd(id: string, nowMs: number): HotKey | undefined {
    const found = this.find(id, nowMs)
    if (found !== undefined) return found
    this.#dropOld(nowMs)
    if (this.#keys.size >= this.#keysMax) return undefined
    const fresh = { allowance: 0, allowanceUntilMs: 0, fullUntilMs: 0, joinPauseMs: 0, waiting: 0, late: 0 }
    const key = { id, ...fresh, joined: false, isRefilling: false, touchedMs: nowMs }
    this.#keys.set(id, key)
    return key
  }

  touch(key: HotKey, nowMs: number): void {
    key.touchedMs = nowMs
    if (this.#keys.get(key.id) !== key) return
    this.#keys.delete(key.id)
    this.#keys.set(key.id, key)
  }

  all(nowMs: number): Iterable<HotKey> {
    this.#dropOld(nowMs)
    return this.#keys.values()
  }

  #isOld(key: HotKey, nowMs: number): boolean {
    return nowMs - key.touchedMs > this.#keepMs
  }

  #dropOld(nowMs: number): void {
    for (const key of this.#keys.values()) {
      if (!this.#isOld(key, nowMs)) return
      this.#keys.delete(key.id)
    }
  }
}
