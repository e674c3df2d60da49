/**
 * What all edges together have admitted, of the keys that need it: a place outside of them that counts, decides in one step, and tells
 * the others of a key that nobody has counted there before.
 *
 * An edge that has *joined* a key has told what it admitted of it and admits nothing more without asking. For every edge that has not,
 * the part of the limit is kept back that it may admit without a word (`kept`). So counted + kept back is never less than what was
 * admitted, and never more for longer than it takes the others to join.
 *
 * Knows keys as hashes and no clock of ours. Does not retry; what it can't tell it says (`undefined`).
 */

import type { Piece } from './rate/own-counts.ts'
import type { Rate } from './rate-limit-policy.ts'

export interface SharedCounts {
  /** Decides each of these (other keys each), one answer each; undefined: it may have been counted, nobody knows. */
  ask(asks: readonly SharedAsk[]): Promise<readonly (SharedAnswer | undefined)[]>
  /** "I am here." For each lane the number of edges that said so lately, this one included; undefined where nobody answers. */
  present(): Promise<readonly (number | undefined)[]>
  /** "I am going." At best: whoever does not hear it notices a little later. */
  leave(): Promise<void>
  /** Another edge counts this key from now on, or waits for us to join. */
  onCall(listener: (limit: string, id: string) => void): void
}

export interface SharedAsk {
  /** Of the limit, the same at every edge. */
  readonly limit: string
  /** Of the key: 16 hexadecimal digits. */
  readonly id: string
  readonly rate: Rate
  /** How many may be admitted now. 0: only to join. */
  readonly want: number
  /** How many edges there are, and what is kept back for each that has not joined. */
  readonly edges: number
  readonly kept: number
  /** What was admitted here without asking since it joined, because nobody could be asked. */
  readonly late: number
  /** What still counts here of the key, for one that has not joined, as far as it knows. */
  readonly joins: readonly Piece[] | undefined
}

export interface SharedAnswer {
  readonly granted: number
  /**
   * full    no more before `untilMs` from now
   * waits   no more as long as others have not joined; they were called
   * join    nothing was counted: this edge has not joined
   */
  readonly rest: 'none' | 'full' | 'waits' | 'join'
  readonly untilMs: number
}

/** Keys are spread over so many lanes; one may be out of reach while others are not. */
export const LANES = 16

export function laneOf(id: string): number {
  return Number.parseInt(id.slice(-1), 16)
}

/** After so long beyond the limit's window an edge that did not ask has no longer joined, and what nobody asks about is forgotten. */
export const FORGET_MS = 2_000

/** What one may use up at once. */
export const capacityOf = ({ count, burst }: Rate): number => burst ?? count
