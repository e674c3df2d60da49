/**
 * 64-bit ids as decimal strings: 41 bits of milliseconds since 2024, 10 bits of node, 12 bits of sequence. Always increasing per
 * maker, never zero, never above 2^63 - 1.
 *
 * No two makers ever make the same id, zombies included. A node id is leased in the ledger together with a bound, and the maker keeps
 * to its own stretch of time: it starts after `fromMs` (the bound of the previous holder) and never uses a millisecond beyond
 * `untilMs` (its own bound, persisted before it is given here). A process that goes on after its lease was handed over can only make ids
 * of a stretch that no other process ever gets.
 *
 * While the clock is up to 50 ms back, ids count on from the last millisecond; beyond that `next` refuses until the clock has caught up. More than 4096 ids in a millisecond borrow the following ones, at most 50 ms ahead of the clock.
 * Does not lease, renew or persist anything: that is the ledger's and the caller's part.
 */

import { assert } from './assert.ts'
import type { Clock } from './clock.ts'
import { Fault } from './fault.ts'

/** 2024-01-01T00:00:00Z. */
const EPOCH_MS = 1_704_067_200_000
const MS_MAX = EPOCH_MS + 2 ** 41 - 1
const NODE_MAX = 1023
const SEQUENCE_MAX = 4095
const DRIFT_MS_MAX = 50

/** Where a 19-digit id is cut in two numbers: both stay far below 2^53, so no id needs a BigInt. */
const CUT = 10_000_000
/** Node and sequence lie below the milliseconds. */
const MS_STEP = 2 ** 22

export type IdMaker = ReturnType<typeof createIdMaker>

interface IdMakerOptions {
  readonly clock: Clock
  readonly node: number
  readonly fromMs: number
  readonly untilMs: number
}

export function createIdMaker({ clock, node, fromMs, untilMs: firstUntilMs }: IdMakerOptions) {
  assert(Number.isInteger(node) && node >= 0 && node <= NODE_MAX, `node id ${node} is not within 0..${NODE_MAX}`)
  assert(Number.isInteger(fromMs), `an id maker can't start after ${fromMs} ms`)

  const nodeBits = node * (SEQUENCE_MAX + 1)
  let untilMs = checkedBound(firstUntilMs, fromMs)
  let lastMs = Math.max(fromMs, EPOCH_MS)
  // The previous holder may have used its last millisecond up to the brim.
  let sequence = SEQUENCE_MAX
  // What `lastMs` contributes to the id: `high` counts in CUTs, `low` in ones.
  let high = 0
  let low = 0
  // All digits of an id but the last seven are those of the one before, nearly always.
  let head = 0
  let headText = ''

  function enter(ms: number): void {
    lastMs = ms
    sequence = 0
    const sinceEpoch = ms - EPOCH_MS
    const cuts = Math.floor(sinceEpoch / CUT)
    high = cuts * MS_STEP
    low = (sinceEpoch - cuts * CUT) * MS_STEP + nodeBits
  }

  /** Throws a retryable fault: `clock_back` when the clock went back too far, `ids_exhausted` when bound or sequence are used up. */
  function next(): string {
    const nowMs = Math.floor(clock.now())
    if (nowMs > untilMs)
      throw refusal('ids_exhausted', `the clock is ${nowMs - untilMs} ms beyond the bound of node ${node}`)
    if (nowMs > lastMs) enter(nowMs)
    else {
      if (lastMs - nowMs > DRIFT_MS_MAX)
        throw refusal('clock_back', `the clock is ${lastMs - nowMs} ms behind the last id`)
      if (sequence < SEQUENCE_MAX) sequence += 1
      else {
        if (lastMs >= untilMs) throw refusal('ids_exhausted', `node ${node} has used its time up to the bound`)
        if (lastMs - nowMs >= DRIFT_MS_MAX)
          throw refusal('ids_exhausted', `node ${node} is ${DRIFT_MS_MAX} ms of ids ahead of the clock`)
        enter(lastMs + 1)
      }
    }
    const carry = Math.floor((low + sequence) / CUT)
    if (high + carry !== head) {
      head = high + carry
      headText = String(head)
    }
    const tail = low + sequence - carry * CUT
    // The leading 1 keeps the zeros; only ids of the first seconds of 2024 have no head.
    return head === 0 ? String(tail) : headText + String(CUT + tail).slice(1)
  }

  return {
    next,
    /** The bound was moved in the ledger. It only goes up. */
    extend(to: number): void {
      untilMs = checkedBound(to, untilMs)
    },
    /** May this node make ids: is the clock within 50 ms of the last id, and not beyond the bound? */
    healthy(): boolean {
      const nowMs = Math.floor(clock.now())
      return nowMs <= untilMs && lastMs - nowMs <= DRIFT_MS_MAX
    },
    /** How far the clock is behind the last id. */
    behindMs: () => lastMs - Math.floor(clock.now()),
    /** The last millisecond used, or the previous holder's bound when there was none yet. */
    lastMs: () => lastMs,
  }
}

/** When an id was made, unix ms, to within a millisecond: for judging whether it can have been. */
export function madeAtMs(id: string): number {
  return EPOCH_MS + Math.floor(Number(id) / MS_STEP)
}

/** The node that made an id. */
export function nodeOf(id: string): number {
  return Number((BigInt(id) >> 12n) & BigInt(NODE_MAX))
}

function checkedBound(untilMs: number, atLeastMs: number): number {
  assert(Number.isInteger(untilMs) && untilMs <= MS_MAX, `an id maker can't be bound to ${untilMs} ms`)
  assert(untilMs >= atLeastMs, `the bound of an id maker can't go back, from ${atLeastMs} to ${untilMs} ms`)
  return untilMs
}

function refusal(code: 'clock_back' | 'ids_exhausted', message: string): Fault {
  return new Fault(code, message, { retryable: true })
}
