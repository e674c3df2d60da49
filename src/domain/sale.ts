/**
 * A sale: a window in time with items, and what a person sees of it.
 *
 * Stored states and their moves: draft → ready ⇄ paused, ready | paused → over. The window does the rest: a ready sale is
 * scheduled before it opens, open inside, over after. `over` is also reached by an operator's `end`.
 */

import type { HoldLimits } from './hold-limits.ts'
import type { SaleId } from './ids.ts'
import type { Item } from './item.ts'
import type { LineTerms } from './line.ts'
import type { ContactField } from './parcel.ts'
import type { Texts } from './texts.ts'

export type StoredSaleState = 'draft' | 'ready' | 'paused' | 'over'
export type SaleRule = 'first_come' | 'draw'
type SaleState = 'draft' | 'scheduled' | 'open' | 'paused' | 'sold_out' | 'over'

/** Before the ticket: a proof of work of this difficulty. `auto` is 1, undefined none. */
export type SaleChallenge = 'auto' | number | undefined

export const CHALLENGE_MAX = 128

/** What a sale asks of buyers before they may try, and how they may pay. */
export interface SaleTerms {
  /** Tickets are given out from so long before the opening; undefined: from the warm-up on. */
  readonly ticketsBeforeMs: number | undefined
  readonly challenge: SaleChallenge
  /** The providers that the operator has chosen, in this order. Undefined: all. */
  readonly paymentProviders?: readonly string[] | undefined
  /** Undefined: as the settings say. */
  readonly holds?: HoldLimits | undefined
  /** Buyers wait in line, and get tickets when they are let in. Undefined: first come, first served. */
  readonly line?: LineTerms | undefined
  /** It is in no public list: who has its address sees it and can buy. */
  readonly unlisted?: true | undefined
  /** A draft that is kept to be copied, and can't be published. */
  readonly template?: true | undefined
  /** What the buyer must say before paying. Undefined: nothing. */
  readonly contactFields?: readonly ContactField[] | undefined
  /** What it is called in the languages of the page. Undefined, or without a language: by its name. */
  readonly texts?: Texts | undefined
}

export interface Sale extends SaleTerms {
  readonly id: SaleId
  readonly name: string
  readonly opensAtMs: number
  readonly closesAtMs: number
  readonly warmBeforeMs: number
  readonly state: StoredSaleState
  /** Goes up with every change of state or window: a stale number is ignored. */
  readonly stateNo: number
  readonly rule: SaleRule
  readonly items: readonly Item[]
}

export function isListed(sale: Pick<Sale, 'unlisted'>): boolean {
  return sale.unlisted !== true
}

/** When the first ticket is given out. */
export function ticketsFromMs({ opensAtMs, warmBeforeMs, ticketsBeforeMs }: Sale): number {
  return opensAtMs - Math.min(warmBeforeMs, ticketsBeforeMs ?? warmBeforeMs)
}

/** What the sale is at a moment. `left` is the sum over its items; unknown (undefined) before the gate has them. */
export function saleState(sale: Sale, nowMs: number, left: number | undefined): SaleState {
  if (sale.state === 'draft') return 'draft'
  if (sale.state === 'over' || nowMs >= sale.closesAtMs) return 'over'
  // Also before the opening: a countdown to it would be wrong.
  if (sale.state === 'paused') return 'paused'
  if (nowMs < sale.opensAtMs) return 'scheduled'
  return left === 0 ? 'sold_out' : 'open'
}
