/** What each problem code means and what to do about it, for the people who meet it: `/docs/errors` and `docs/reference/errors.md`. */

import type { ProblemCode } from './problems.ts'

interface Guidance {
  readonly means: string
  readonly todo: string
  /** Members of the body beyond type, title, status, detail and code. */
  readonly more?: readonly string[]
  /** Headers that come with it, always. */
  readonly headers?: readonly string[]
}

export const GUIDE: Readonly<Record<ProblemCode, Guidance>> = {
  body_invalid: {
    means:
      'The body, a query parameter or the Idempotency-Key is not what this call takes. "field" names the first thing that does not fit.',
    todo: 'Mend the request. Sending it again unchanged is of no use.',
    more: ['field'],
  },
  unauthenticated: {
    means: 'The buyer or operator token is missing, expired, or not signed by a key this server trusts.',
    todo: 'Get a fresh token from the shop and ask again.',
    headers: ['www-authenticate'],
  },
  ticket_invalid: {
    means: 'The ticket is missing, expired, forged, or was given out for another sale or item.',
    todo: 'Get a new ticket for this very item and order with it.',
    headers: ['www-authenticate'],
  },
  signature_invalid: {
    means: 'A payment callback is not signed by its provider, or too old.',
    todo: 'Nothing was changed. Check the provider keys on both sides.',
  },
  not_found: {
    means:
      'There is nothing at this address, or nothing that you may see: orders of others and drafts count as not there.',
    todo: 'Check the ids. Do not retry.',
  },
  method_not_allowed: {
    means: 'The address exists and takes other methods: they are in the Allow header.',
    todo: 'Use one of them.',
    headers: ['allow'],
  },
  sold_out: {
    means: 'All units are taken at this moment. Nothing was ordered and the attempt is not used up.',
    todo: 'Units return when orders are not paid in time: watch "left" of the item and order again with the same ticket.',
  },
  not_enough: {
    means: 'Some units are left ("left"), but fewer than asked for. Nothing was ordered.',
    todo: 'Ask again with a smaller quantity.',
    more: ['left'],
  },
  sale_not_open: {
    means: 'The sale opens later ("opensAt"). Tickets are given out from the warm-up on, orders from the opening on.',
    todo: 'Wait until then by the clock of /api/time.',
    more: ['opensAt'],
  },
  sale_paused: {
    means: 'The shop has paused the sale.',
    todo: 'Keep the ticket and ask again in a few seconds.',
  },
  attempts_used: {
    means: 'This buyer has ordered this item as often as the sale allows.',
    todo: 'There is nothing more to do for this buyer and item.',
  },
  not_changeable: {
    means: 'What was to be changed ("field") can no longer be changed, or not in the state the sale is in.',
    todo: 'Read the sale to see its state.',
    more: ['field'],
  },
  order_paid: {
    means: 'The order is paid: it can be neither paid again nor cancelled.',
    todo: 'An operator can refund it.',
  },
  order_not_paid: {
    means: 'Only a paid order can be refunded.',
    todo: 'Cancel it instead, or wait for the payment.',
  },
  order_closed: {
    means: 'The order is closed (unpaid in time, cancelled, refused or refunded) and can no longer be paid.',
    todo: 'Get a new ticket: it carries the next attempt.',
  },
  payment_settled: {
    means: 'The sandbox payment was decided the other way before ("state").',
    todo: 'Start a new payment.',
    more: ['state'],
  },
  not_placed: {
    means: 'The order is reserved and not written down yet.',
    todo: 'Ask again after Retry-After.',
    headers: ['retry-after'],
  },
  sale_over: {
    means: 'The sale has ended. No more tickets, no more orders.',
    todo: 'Orders made before can still be seen and paid.',
  },
  body_too_large: {
    means: 'A request body may have 16 KiB.',
    todo: 'Send less.',
  },
  quantity_invalid: {
    means: 'The quantity is not a whole number from 1 to "quantityMax".',
    todo: 'Ask for a quantity within these bounds.',
    more: ['field', 'quantityMax'],
  },
  idempotency_key_reused: {
    means: 'This Idempotency-Key came with another body before. Nothing was changed.',
    todo: 'Use a new key for a new wish, and the same key only to repeat the same one.',
  },
  rate_limited: {
    means: 'Too many requests; RateLimit-Policy says which limit, RateLimit when there is room again.',
    todo: 'Wait for Retry-After seconds, then ask again with the same ticket.',
    headers: ['retry-after', 'ratelimit', 'ratelimit-policy'],
  },
  internal: {
    means: 'A mistake on our side. "requestId" finds it in the log.',
    todo: 'Ask again; if it stays, report the request id.',
    more: ['requestId'],
  },
  busy: {
    means: 'Too many are waiting, a part behind is away, or it is not known yet whether the call took effect.',
    todo: 'Ask again after Retry-After with the same ticket, attempt or Idempotency-Key: nothing happens twice.',
    headers: ['retry-after'],
  },
}
