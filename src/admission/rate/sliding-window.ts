/**
 * Counts requests per key over a window that slides, in fixed memory.
 *
 * All admissions of all keys stand in one log, oldest first; each key has its count of them and a chain through its own. Looking drops
 * from the log's old end what is a window old. A key without an admission in its window has no state at all, so nothing that matters is
 * ever evicted, and a million addresses that come one after another leave nothing behind.
 *
 * Guarantees, for a rate of `count` in `windowMs`:
 *  1. Always, at any load: in no interval [t, t + windowMs) are more than `count` requests of a key admitted. A refused one is not
 *     counted.
 *  2. While the log holds at most `exactMax` admissions: a request admitted at t stops counting at exactly t + windowMs, and a key is
 *     refused only if `count` of its own count. So whoever keeps to the rate, steadily or in bursts, is never refused.
 *  3. Past that, a key's neighbouring admissions are kept as one that ages with its youngest: a request stops counting up to a
 *     `1/pieces` window late. This holds until a window after the log is below `exactMax` again.
 *  4. While `keysMax` keys are in their windows, a new one is counted in one of `keysMax / 16` places that it shares with the other new
 *     ones its hash brings there, with `count` for all of them. Whoever has a seat notices nothing. When seats come free the sharing ends;
 *     for one window more, a key that may have been counted there still has that place's count on top of its own (1 holds for it too).
 *
 * Does not read a clock: times come from the caller, and never go back.
 */

import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import type { Rate } from '../rate-limit-policy.ts'
import { createKeyTable } from './key-table.ts'
import type { OwnCounts, Piece } from './own-counts.ts'

const PIECES_MIN = 4
const PIECES_MAX = 1024
const KEYS_PER_SHARED_PLACE = 16

interface SlidingWindowOptions {
  readonly rate: Rate
  /** A power of two. */
  readonly keysMax: number
  readonly exactMax: number
  readonly random: Random
}

export function createSlidingWindow({ rate, keysMax, exactMax, random }: SlidingWindowOptions): OwnCounts {
  const { count, windowMs } = rate
  assert(Number.isInteger(Math.log2(keysMax)), 'the number of keys must be a power of two')
  const keys = createKeyTable(keysMax, random)
  const sharedMax = Math.max(1, keysMax / KEYS_PER_SHARED_PLACE)
  /** The keys' own seats, then the shared places. */
  const seatsMax = keysMax + sharedMax
  const pieces = Math.min(PIECES_MAX, Math.max(PIECES_MIN, Math.floor(exactMax / seatsMax)))
  const pieceMs = windowMs / pieces

  // The log, a ring. An entry leaves it at most a window and a piece after it began, and past `exactMax` those of one seat begin a piece
  // apart: never more than pieces + 1 of them at a time. So it can't run full.
  const logMax = exactMax + seatsMax * (pieces + 1)
  const youngestMs = new Float64Array(logMax)
  const admitted = new Uint32Array(logMax)
  const seatOf = new Uint32Array(logMax)
  const nextOfSeat = new Uint32Array(logMax)
  let head = 0
  let logged = 0

  const counted = new Uint32Array(seatsMax)
  const oldest = new Uint32Array(seatsMax)
  const newest = new Uint32Array(seatsMax)
  const newestBeganMs = new Float64Array(seatsMax)
  /** Until then the key may have admissions in its shared place, from before it had a seat. */
  const sharesUntilMs = new Float64Array(keysMax)

  // Whom `hasRoom` was asked about last.
  let nowMs = 0
  let seat = -1
  let shared = 0

  function dropOld(): void {
    while (logged > 0 && nowMs - youngestMs[head]! >= windowMs) {
      const owner = seatOf[head]!
      counted[owner] = counted[owner]! - admitted[head]!
      if (counted[owner] > 0) oldest[owner] = nextOfSeat[head]!
      else if (owner < keysMax) keys.remove(owner)
      head = head + 1 === logMax ? 0 : head + 1
      logged -= 1
    }
  }

  function isSharing(): boolean {
    return seat < 0 || nowMs < sharesUntilMs[seat]!
  }

  function log(owner: number): void {
    counted[owner] = counted[owner]! + 1
    if (logged >= exactMax && counted[owner] > 1 && nowMs - newestBeganMs[owner]! < pieceMs) {
      const entry = newest[owner]!
      admitted[entry] = admitted[entry]! + 1
      youngestMs[entry] = nowMs
      return
    }
    assert(logged < logMax, 'the log of admissions ran full')
    const entry = head + logged < logMax ? head + logged : head + logged - logMax
    logged += 1
    youngestMs[entry] = nowMs
    admitted[entry] = 1
    seatOf[entry] = owner
    if (counted[owner] === 1) oldest[owner] = entry
    else nextOfSeat[newest[owner]!] = entry
    newest[owner] = entry
    newestBeganMs[owner] = nowMs
  }

  return {
    hasRoom(key, atMs, limit = count) {
      nowMs = atMs
      dropOld()
      seat = keys.find(key)
      shared = keysMax + keys.sharedPlace(sharedMax)
      return (seat < 0 ? 0 : counted[seat]!) + (isSharing() ? counted[shared]! : 0) < limit
    },

    take() {
      if (seat < 0 && !keys.isFull) {
        seat = keys.add()
        sharesUntilMs[seat] = counted[shared]! > 0 ? nowMs + windowMs : nowMs
      }
      log(seat < 0 ? shared : seat)
    },

    waitMs() {
      let until = Number.POSITIVE_INFINITY
      if (seat >= 0) until = youngestMs[oldest[seat]!]! + windowMs
      if (isSharing() && counted[shared]! > 0) until = Math.min(until, youngestMs[oldest[shared]!]! + windowMs)
      return Math.max(0, until - nowMs)
    },

    recent(piecesMax) {
      const entries: Piece[] = []
      for (const owner of isSharing() ? [seat, shared] : [seat]) {
        let left = owner < 0 ? 0 : counted[owner]!
        for (let entry = left > 0 ? oldest[owner]! : 0; left > 0; entry = nextOfSeat[entry]!) {
          entries.push({ ageMs: nowMs - youngestMs[entry]!, units: admitted[entry]! })
          left -= admitted[entry]!
        }
      }
      return inPieces(entries, piecesMax)
    },
  }
}

/** Neighbours together, until there are few enough: each holds an equal part of the whole at least, but for the last. */
function inPieces(entries: readonly Piece[], piecesMax: number): readonly Piece[] {
  if (entries.length <= piecesMax) return entries.toSorted((a, b) => b.ageMs - a.ageMs)
  const each = Math.ceil(entries.reduce((sum, { units }) => sum + units, 0) / piecesMax)
  const pieces: Piece[] = []
  for (const { ageMs, units } of entries.toSorted((a, b) => b.ageMs - a.ageMs)) {
    const last = pieces.at(-1)
    if (last === undefined || last.units >= each) pieces.push({ ageMs, units })
    else pieces[pieces.length - 1] = { ageMs, units: last.units + units }
  }
  return pieces
}
