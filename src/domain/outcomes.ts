/** What a click can come to. Expected answers, every one of them a value: no exception travels on the hot path. */

import type { Order, Reservation } from './order.ts'

export type Refusal =
  | { readonly kind: 'sold_out' }
  | { readonly kind: 'not_enough'; readonly left: number }
  | { readonly kind: 'early'; readonly opensAtMs: number }
  | { readonly kind: 'paused' }
  | { readonly kind: 'over' }
  | { readonly kind: 'attempts_used' }
  /** The queue is full, or the outcome is not known yet: asking again settles it. */
  | { readonly kind: 'busy' }

export type TakeOrderOutcome =
  /** Committed by this very click. */
  | { readonly kind: 'placed'; readonly order: Order }
  /** This buyer's order existed already. */
  | { readonly kind: 'same'; readonly order: Order }
  /** Taken at the gate by this very click, not placed yet. Never behind a gate in the process. */
  | { readonly kind: 'reserved'; readonly reservation: Reservation }
  /** This buyer's reservation existed already, and is not placed yet. */
  | { readonly kind: 'same_reserved'; readonly reservation: Reservation }
  | Refusal
