/**
 * What the button of an item shows. Pure: the same facts, the same button. The first that applies wins: an ask under way, a live order, what
 * prevents all buyers, what prevents this buyer, then the button itself.
 */

import type { Item, Order, Sale } from '../shapes.ts'

/** What this page is doing about an item right now. */
export type Doing =
  | { readonly kind: 'nothing' }
  /** `tries` answers were lost so far; `elsewhere`: another tab is asking. */
  | { readonly kind: 'sending'; readonly tries: number; readonly elsewhere: boolean }
  | { readonly kind: 'cooling'; readonly untilMs: number; readonly why: string }
  | { readonly kind: 'limited'; readonly untilMs: number }
  | { readonly kind: 'attempts_used' }

export type ButtonState =
  | { readonly kind: 'before' | 'opening'; readonly opensAtMs: number }
  /** `loading`, `away`: what the page shows was written when it was published; the server is being asked, or does not answer. */
  | { readonly kind: 'loading' | 'away' | 'live' | 'over' | 'offline' | 'signed_out' | 'attempts_used' | 'sold_out' }
  /** A sale that is paused before its opening may still open as planned. */
  | { readonly kind: 'paused'; readonly opened: boolean }
  | { readonly kind: 'sending'; readonly tries: number; readonly offline: boolean }
  | { readonly kind: 'reserved' | 'placed' | 'paid'; readonly order: Order }
  | { readonly kind: 'cooling' | 'limited'; readonly untilMs: number }
  | InLine

/** The sale has a waiting line, and it has not let this buyer in. Its texts, and what a press does, come with the line's own script. */
export interface InLine {
  readonly kind: 'line_before' | 'join' | 'in_line' | 'missed'
  readonly label?: string
  readonly note?: string
  readonly press?: (() => void) | undefined
}

export interface Facts {
  readonly sale: { readonly state: string } & Pick<Sale, 'opensAt' | 'closesAt'>
  readonly item: Pick<Item, 'left'>
  readonly order: Order | undefined
  readonly doing: Doing
  readonly nowMs: number
  readonly online: boolean
  /** The last call got an answer. */
  readonly reachable: boolean
  /** A server has sent this sale. */
  readonly confirmed: boolean
  readonly signedOut: boolean
  /** Of a sale with a waiting line: what stands before the button; undefined where the buyer is let in. */
  readonly inLine?: InLine | { readonly kind: 'loading' } | undefined
}

/** How long before the opening the button says that it is near. */
const OPENING_MS = 5_000

export function buttonState(facts: Facts): ButtonState {
  const { sale, item, order, doing, nowMs, online } = facts
  if (doing.kind === 'sending') return { kind: 'sending', tries: doing.tries, offline: !online }
  if (order?.state === 'reserved') return { kind: 'reserved', order }
  if (order?.state === 'pending') return { kind: 'placed', order }
  if (order?.state === 'paid') return { kind: 'paid', order }

  if (sale.state === 'over') return { kind: 'over' }
  if (!facts.confirmed && online) return { kind: facts.reachable ? 'loading' : 'away' }
  if (nowMs >= Date.parse(sale.closesAt)) return { kind: 'over' }
  if (facts.signedOut) return { kind: 'signed_out' }
  if (!online) return { kind: 'offline' }
  if (facts.inLine !== undefined) return facts.inLine
  const opensAtMs = Date.parse(sale.opensAt)
  if (sale.state === 'paused') return { kind: 'paused', opened: nowMs >= opensAtMs }
  if (nowMs < opensAtMs) return { kind: opensAtMs - nowMs <= OPENING_MS ? 'opening' : 'before', opensAtMs }
  if (doing.kind === 'attempts_used') return { kind: 'attempts_used' }
  if (doing.kind === 'limited' && nowMs < doing.untilMs) return { kind: 'limited', untilMs: doing.untilMs }
  if (item.left <= 0) return { kind: 'sold_out' }
  if (doing.kind === 'cooling' && nowMs < doing.untilMs) return { kind: 'cooling', untilMs: doing.untilMs }
  return { kind: 'live' }
}

/** The next moment at which the same facts may give another state. */
export function nextChangeMs({ sale, doing, nowMs }: Facts): number {
  const opensAtMs = Date.parse(sale.opensAt)
  const moments = [opensAtMs - OPENING_MS, opensAtMs, Date.parse(sale.closesAt)]
  if (doing.kind === 'cooling' || doing.kind === 'limited') moments.push(doing.untilMs)
  return Math.min(...moments.filter(moment => moment > nowMs), Number.POSITIVE_INFINITY)
}
