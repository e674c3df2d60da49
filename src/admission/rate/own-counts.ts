/**
 * What this process itself has admitted, per key, in fixed memory: the contract of `sliding-window.ts` and `token-bucket.ts`. `hasRoom`
 * judges a key; `take`, `waitMs` and `recent` are about the key that was judged last. Times come from the caller, and never go back.
 */

export interface OwnCounts {
  /** May this key have one more? Counts nothing. `limit`: a lower limit than the rate's. */
  hasRoom(key: string, nowMs: number, limit?: number): boolean
  /** Counts one request, whatever `hasRoom` answered. */
  take(): void
  /** How long a refused key has to wait. */
  waitMs(): number
  /** What still counts of the key, in at most so many slices, oldest first. */
  recent(slicesMax: number): readonly Slice[]
}

/** Requests counted together: they age with the youngest of them. */
export interface Slice {
  readonly ageMs: number
  readonly units: number
}
