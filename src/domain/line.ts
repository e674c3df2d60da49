/**
 * The waiting line of a sale: buyers join it, are let in one after the other, and get tickets only then.
 *
 * A join has a number, 1, 2, 3, … in the order of commit, and a position: the number itself, or, where the order is drawn, the one that the draw gave it. The
 * line has one mark: all positions up to it are let in. States of a join, none of them stored but the last:
 *
 *     waiting → admitted (the mark has passed it) → missed (its time to claim is over, or its order was closed) | done (its buyer has a live order)
 *     any → gone: the buyer left, or joined again at the end
 */

import { DRAND_SOURCE, roundAfterSeal, roundAtMs } from './draw/drand-rounds.ts'

type LineOrder = 'arrival' | 'draw'
/** People let in per second. `auto`: as the stock and the load allow. */
export type LineRate = 'auto' | number

/** A value that does not exist yet when the joins are sealed. */
interface BeaconTerms {
  readonly source: string
  readonly round?: number | undefined
}

export interface LineTerms {
  readonly opensAtMs: number
  readonly order: LineOrder
  readonly rate: LineRate
  /** Undefined: a minute before the sale opens. */
  readonly sealsAtMs?: number | undefined
  readonly claimWithinMs: number
  readonly beacon?: BeaconTerms | undefined
  /** Each value of this claim of the shop's token may join once. Undefined: each buyer. */
  readonly claim?: string | undefined
}

type LineState = 'scheduled' | 'joining' | 'drawn' | 'letting_in' | 'over'
export type JoinState = 'waiting' | 'admitted' | 'missed' | 'done'

/** So many joins are numbered in one line; each takes a few dozen bytes of memory. */
export const JOINS_PER_LINE_MAX = 5_000_000
export const LINE_RATE_MAX = 100_000
export const CLAIM_WITHIN_S = 120
const SEALS_BEFORE_MS = 60_000
const BEACON_WITHIN_MS = 86_400_000

interface SaleWithLine {
  readonly opensAtMs: number
  readonly closesAtMs: number
  readonly state: string
  readonly line?: LineTerms | undefined
}

export function sealsAtMs(sale: Pick<SaleWithLine, 'opensAtMs'>, line: LineTerms): number {
  return line.sealsAtMs ?? Math.max(line.opensAtMs, sale.opensAtMs - SEALS_BEFORE_MS)
}

export function lineState(sale: SaleWithLine, line: LineTerms, nowMs: number, isDrawn: boolean): LineState {
  if (sale.state === 'over' || nowMs >= sale.closesAtMs) return 'over'
  if (nowMs < line.opensAtMs) return 'scheduled'
  if (nowMs >= sale.opensAtMs && (line.order === 'arrival' || isDrawn)) return 'letting_in'
  return isDrawn ? 'drawn' : 'joining'
}

export function isSameLine(one: LineTerms | undefined, other: LineTerms | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return (
    one.opensAtMs === other.opensAtMs &&
    one.order === other.order &&
    one.rate === other.rate &&
    one.sealsAtMs === other.sealsAtMs &&
    one.claim === other.claim &&
    one.claimWithinMs === other.claimWithinMs &&
    one.beacon?.source === other.beacon?.source &&
    one.beacon?.round === other.beacon?.round
  )
}

/** What is wrong with a line of such a sale; undefined: nothing. */
export function lineFault(
  sale: Pick<SaleWithLine, 'opensAtMs' | 'closesAtMs'>,
  line: LineTerms,
): LineFault | undefined {
  if (line.opensAtMs > sale.opensAtMs)
    return { field: 'line.opensAt', why: 'must not be later than the opening of the sale' }
  if (line.order === 'arrival') {
    if (line.sealsAtMs !== undefined) return { field: 'line.sealsAt', why: 'is for a line with the order "draw"' }
    return line.beacon && { field: 'line.beacon', why: 'is for a line with the order "draw"' }
  }
  const sealed = sealsAtMs(sale, line)
  if (sealed <= line.opensAtMs || sealed > sale.opensAtMs)
    return { field: 'line.sealsAt', why: 'must lie after the opening of the line, and not after that of the sale' }
  return line.beacon && beaconFault(line.beacon, sealed)
}

function beaconFault({ source, round }: BeaconTerms, sealedAtMs: number): LineFault | undefined {
  if (round === undefined) return undefined
  if (source !== DRAND_SOURCE) return { field: 'line.beacon.round', why: 'is for the source "drand"' }
  if (round < roundAfterSeal(sealedAtMs))
    return {
      field: 'line.beacon.round',
      why: `must be at least ${roundAfterSeal(sealedAtMs)}: a round that is published after the seal`,
    }
  if (roundAtMs(round) > sealedAtMs + BEACON_WITHIN_MS)
    return { field: 'line.beacon.round', why: 'is published more than a day after the seal' }
  return undefined
}

interface LineFault {
  readonly field: string
  readonly why: string
}
