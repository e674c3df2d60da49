/**
 * The keys of one limit that this edge counts together with the others: those of which it, or another, has admitted more than its part.
 * Bounded; a key that was not asked about for `keepMs` is forgotten. Where there is no place for one more, the newcomer gets none.
 *
 * States of a key: cold (not in here) → asked → joined → … and cold again when it was forgotten. It stays in here for longer than the
 * other side takes it for joined, so that nothing is admitted without a word which nobody keeps back for it.
 */

export interface HotKey {
  readonly id: string
  /** Granted and not used yet, good until then. */
  allowance: number
  allowanceUntilMs: number
  /** Until then there is none to be had. */
  fullUntilMs: number
  /** Others have not joined yet: asking again so much later is worth it. 0: nobody is waited for. */
  waitsMs: number
  /** How many wait for an answer. */
  waiting: number
  joined: boolean
  /** Admitted here without asking, and not told yet. */
  late: number
  isRefilling: boolean
  touchedMs: number
}

interface HotKeys {
  find(id: string, nowMs: number): HotKey | undefined
  /** Undefined: there is no place. */
  add(id: string, nowMs: number): HotKey | undefined
  touch(key: HotKey, nowMs: number): void
  all(nowMs: number): Iterable<HotKey>
}

export function createHotKeys(keysMax: number, keepMs: number): HotKeys {
  /** Who was touched last stands last. */
  const keys = new Map<string, HotKey>()
  const isOld = (key: HotKey, nowMs: number) => nowMs - key.touchedMs > keepMs

  function dropOld(nowMs: number): void {
    for (const key of keys.values()) {
      if (!isOld(key, nowMs)) return
      keys.delete(key.id)
    }
  }

  return {
    find(id, nowMs) {
      const key = keys.get(id)
      return key === undefined || isOld(key, nowMs) ? undefined : key
    },
    add(id, nowMs) {
      dropOld(nowMs)
      if (keys.size >= keysMax) return undefined
      const fresh = { allowance: 0, allowanceUntilMs: 0, fullUntilMs: 0, waitsMs: 0, waiting: 0, late: 0 }
      const key = { id, ...fresh, joined: false, isRefilling: false, touchedMs: nowMs }
      keys.set(id, key)
      return key
    },
    touch(key, nowMs) {
      key.touchedMs = nowMs
      if (keys.get(key.id) !== key) return
      keys.delete(key.id)
      keys.set(key.id, key)
    },
    all(nowMs) {
      dropOld(nowMs)
      return keys.values()
    },
  }
}
