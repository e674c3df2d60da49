/**
 * What all edges together have admitted, of the keys that need it: counted outside of them and decided in one step.
 *
 * An edge that has *joined* a key has reported what it admitted of it, and admits nothing more without a grant. For every edge that has
 * not, the part of the limit is kept back that it may admit alone (`kept`). So counted + kept back is never less than what was admitted,
 * and is more only until the others have joined.
 *
 * Sees keys only as hashes, and no clock of ours. Does not retry: an unknown outcome is `undefined`.
 */

import type { Slice } from './rate/own-counts.ts'
import type { Rate } from './rate-limit-policy.ts'

export interface SharedCounts {
  /** Decides each of these, all of different keys. Undefined: no answer; it may have been counted. */
  ask(asks: readonly SharedAsk[]): Promise<readonly (SharedAnswer | undefined)[]>
  /** Announces this edge. Per partition, how many edges announced themselves lately, this one included; undefined without an answer. */
  announce(): Promise<readonly (number | undefined)[]>
  /** Says what this edge's limits are. What those of all edges are, this one included; undefined without an answer. */
  compare(limits: string): Promise<readonly LimitsOfEdges[] | undefined>
  /** Best effort: without it this edge is no longer counted a little later. */
  leave(): Promise<void>
  /** Another edge counts this key from now on, or waits for this edge to join. */
  onJoinRequest(listener: (limit: string, id: string) => void): void
}

/** So many edges have just these limits (`rate/limits-of-edges.ts`). */
export interface LimitsOfEdges {
  readonly limits: string
  readonly edges: number
}

/** A limit that is not the same at all edges. */
export interface LimitDifference {
  readonly limit: string
  /** `100/1s at 3 edges, off at 1` */
  readonly words: string
}

export interface SharedAsk {
  /** Name of the limit, the same at every edge. */
  readonly limit: string
  /** Hash of the key: 16 hexadecimal digits. */
  readonly id: string
  readonly rate: Rate
  /** How many should be granted. 0: only join. */
  readonly want: number
  /** How many edges there are, and how much is kept back for each that has not joined. */
  readonly edges: number
  readonly kept: number
  /** Admitted here without a grant since the join, while the shared counts were away. */
  readonly late: number
  /** What this edge has admitted of the key and still counts. Undefined: it has joined, as far as it knows. */
  readonly joins: readonly Slice[] | undefined
}

export interface SharedAnswer {
  readonly granted: number
  /**
   * full    no more before `untilMs` from now
   * waits   no more until other edges have joined; they were asked to
   * join    nothing was counted: this edge has not joined
   */
  readonly rest: 'none' | 'full' | 'waits' | 'join'
  readonly untilMs: number
}

/** Keys are spread over partitions; one may be unreachable while others are not. */
export const PARTITIONS = 16

export function partitionOf(id: string): number {
  return Number.parseInt(id.slice(-1), 16)
}

/** This long after the limit's window, an edge that did not ask counts as not joined, and a key that no edge asked about is forgotten. */
export const FORGET_MS = 2_000

/** The most that can be used at once. */
export const capacityOf = ({ count, burst }: Rate): number => burst ?? count
