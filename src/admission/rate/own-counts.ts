/**
 * What this process itself has admitted, per key, in fixed memory: the contract of `sliding-window.ts` and `token-bucket.ts`. Whoever asks
 * about a key may then count it, or learn how long it has to wait. Does not read a clock: times come from the caller, and never go back.
 */

export interface OwnCounts {
  /** May this key have one more? Counts nothing. `limit`: if it may have less than the rate says. */
  hasRoom(key: string, nowMs: number, limit?: number): boolean
  /** Counts the request that `hasRoom` was just asked about, whatever the answer was. */
  take(): void
  /** How long the key that `hasRoom` just refused has to wait. */
  waitMs(): number
  /** What still counts of the key that `hasRoom` was just asked about: at most so many pieces, oldest first, none younger than it is. */
  recent(piecesMax: number): readonly Piece[]
}

/** Requests that count as one: they age with the youngest of them. */
export interface Piece {
  readonly ageMs: number
  readonly units: number
}
