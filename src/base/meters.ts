/**
 * What the system counts and times while it works, as a port. The lists are closed, so that no id, name or address can ever become a label,
 * and memory stays bounded. Counting is cheap enough for refused requests; nothing here throws, waits or allocates. Does not know how
 * the figures are read (`src/telemetry`).
 */

import type { TraceParent } from './trace.ts'

/** Family → what may be counted in it. Shown as `stampede_<family>_total`. */
export const COUNTED = {
  order_asks: [
    'placed',
    'reserved',
    'same',
    'sold_out',
    'not_enough',
    'early',
    'paused',
    'over',
    'attempts_used',
    'hold_limit',
    'busy',
    'crowded',
    'rate_limited',
    'denied',
    'ticket_invalid',
    'body_invalid',
    'quantity_invalid',
    'not_found',
  ],
  ticket_asks: [
    'given',
    'challenge_required',
    'challenge_invalid',
    'not_admitted',
    'attempts_used',
    'hold_limit',
    'early',
    'over',
    'busy',
    'rate_limited',
    'denied',
    'risk_denied',
    'unauthenticated',
    'not_found',
  ],
  /** To the receiver of traces. dropped: too many waited. */
  trace_spans: ['sent', 'failed', 'dropped'],
  /** As `wire/abuse/refusal-reasons.ts` names them. */
  refusals: [
    'rate_limited',
    'denied',
    'risk_denied',
    'ticket_invalid',
    'challenge_invalid',
    'hold_limit',
    'unauthenticated',
  ],
  risk_asks: ['allow', 'deny', 'challenge', 'cached', 'timeout', 'failed', 'unreadable', 'crowded', 'resting'],
  /** By the subject that had no room. */
  hold_refusals: ['buyer', 'prefix', 'claim'],
  hold_counts: ['alone'],
  parcels: ['written', 'lost'],
  challenges: ['made', 'passed', 'malformed', 'forged', 'expired', 'foreign', 'wrong', 'waived', 'unknown'],
  orders: ['placed', 'paid', 'unpaid', 'cancelled', 'refused', 'refunded'],
  releases: ['done'],
  refunds: ['due', 'sent'],
  payment_calls: [
    ...(['start_ok', 'start_refused', 'start_unreachable', 'query_ok', 'query_refused', 'query_unreachable'] as const),
    ...(['cancel_ok', 'cancel_refused', 'cancel_unreachable'] as const),
    ...(['refund_ok', 'refund_refused', 'refund_unreachable'] as const),
  ],
  payment_callbacks_forged: ['forged'],
  operator_tokens: ['accepted', 'wrong', 'limited'],
  reconciliation: ['difference', 'repair'],
  promises_broken: ['1', '2', '3', '4', '5', '6', '7', '8'],
  alarms: [
    'foreign_order_id',
    'ledger_refused',
    'wrong_amount',
    'unknown_payment',
    'refund_impossible',
    'payment_disputed',
    'refused_acknowledged',
    'dead_letter',
    'gate_clock_skew',
    'door_shut',
    'sale_not_settled',
    'watching_failed',
    'events_not_copied',
    'entry_too_large',
    'newer_message',
    'copies_unread',
    'copies_lost',
  ],
  hand_overs: ['order'],
  kafka_records: ['relayed', 'placed', 'dead', 'gone', 'kept'],
  gate_stale: ['reply'],
  rebuilds: ['begun', 'done', 'failed'],
  door_turns: ['gate', 'draining', 'ledger', 'shut'],
  messages_lost: ['unreadable', 'unsaid', 'gap'],
  /** Layer and answer: found, known not to exist, or not known there. */
  catalog_reads: [
    'memory_hit',
    'memory_none',
    'memory_miss',
    'redis_hit',
    'redis_none',
    'redis_miss',
    'ledger_hit',
    'ledger_none',
    'ledger_miss',
  ],
  rate_refusals: ['here', 'shared', 'alone'],
  rate_questions: ['key', 'failed'],
  pages: ['put', 'removed', 'failed'],
  page_notices: ['sent', 'failed'],
  alerts: ['webhook_told', 'webhook_failed', 'slack_told', 'slack_failed', 'email_told', 'email_failed'],
  webhook_tries: ['delivered', 'failed', 'gone'],
  webhook_deliveries_lost: ['given_up', 'skipped'],
  sockets_opened: ['opened'],
  sockets_refused: ['unauthenticated', 'full', 'full_address', 'rate_limited', 'draining'],
  sockets_closed: ['left', 'slow', 'one_too_many', 'talkative', 'expired', 'draining', 'unreadable'],
} as const

export type Counted = typeof COUNTED
export type CountFamily = keyof Counted

/** In milliseconds. Shown as `stampede_<name>_seconds`, with this sentence. */
export const TIMED = {
  gate_reserve: 'One batch at the gate.',
  ledger_place: 'One batch placed in the ledger, COMMIT included.',
  click_to_row: 'From joining the queue to the committed order row.',
  event_loop_delay: 'How late timers fire. Requests wait as long.',
  payment_call: 'One call to a payment provider, answered or given up.',
  outbox_age: 'Age of an outbox entry when it was in the ledger.',
  rebuild: 'One rebuild of an item, from raising the epoch to the open door.',
} as const

/** Shown as `stampede_<name>_size`, with this sentence. */
export const SIZED = {
  order_batch: 'Asks decided together at the gate.',
  finder_batch: 'Orders read from the ledger together.',
  place_batch: 'Reservations that a worker placed in the ledger together.',
} as const

export interface Meters {
  count<F extends CountFamily>(family: F, which: Counted[F][number], by?: number): void
  /** @param trace of the click that took so long, where it is traced: an exemplar */
  time(what: keyof typeof TIMED, ms: number, trace?: TraceParent): void
  size(what: keyof typeof SIZED, count: number): void
  /** For one route, by its template; asked for once, at the start. */
  route(method: string, template: string): RouteMeter
}

export interface RouteMeter {
  /** One answer. Undefined: counted, but not timed. */
  answered(status: number, ms: number | undefined, trace?: TraceParent | null): void
}

/** Counts nothing. */
export const noMeters: Meters = {
  count() {},
  time() {},
  size() {},
  route: () => ({ answered() {} }),
}
