/**
 * Every refusal and error of the API, in one catalogue: the stable code, its HTTP status, and the texts for people. The server's answers,
 * the API's description, `/docs/errors` and `docs/reference/errors.md` are made from it. Free of zod: the pages may import it.
 */

interface Problem {
  readonly status: number
  readonly title: string
  /** `detail` of the body where a call says nothing more exact; absent: the title. */
  readonly detail?: string
  readonly means: string
  readonly todo: string
  /** Members of the body beyond type, title, status, detail and code. */
  readonly more?: readonly string[]
  /** Headers that every answer with this code carries. */
  readonly headers?: readonly string[]
}

export type ProblemCode = keyof typeof CATALOGUE

const CATALOGUE = {
  body_invalid: {
    status: 400,
    title: 'The request is not what this call takes',
    means:
      'The body, a query parameter or the Idempotency-Key is not what this call takes. "field" names the first thing that does not fit.',
    todo: 'Fix the request before you retry.',
    more: ['field'],
  },
  unauthenticated: {
    status: 401,
    title: 'Sign in first',
    detail: 'Send the buyer token as "Authorization: Bearer …", or sign in at /api/session.',
    means:
      'The buyer or operator token is missing, expired, without an `exp`, or not signed by a key this server trusts.',
    todo: 'Get a fresh token from the shop and ask again.',
    headers: ['www-authenticate'],
  },
  ticket_invalid: {
    status: 401,
    title: 'This ticket is not valid here',
    detail: 'Get a ticket for this item first and send it as "Authorization: Bearer …".',
    means: 'The ticket is missing, expired, forged, or was given out for another sale or item.',
    todo: 'Get a new ticket for this very item and order with it.',
    headers: ['www-authenticate'],
  },
  not_admitted: {
    status: 403,
    title: 'It is not your turn yet',
    detail: 'This sale has a waiting line. Join it; a ticket is given to you when you are let in.',
    means:
      'The sale has a waiting line, and this buyer is not let in: not in line, still waiting ("place", "ahead"), or the time to claim is over. null: unknown.',
    todo: 'Join the line with POST /api/sales/{sale}/line, and ask for the ticket when its state is "admitted".',
    more: ['place', 'ahead'],
  },
  signature_invalid: {
    status: 401,
    title: 'The signature does not fit',
    means: "A payment callback or a shop's report is not signed by its provider, or too old.",
    todo: 'Nothing was changed. Check the keys and the clocks on both sides.',
  },
  forbidden: {
    status: 403,
    title: 'This is not allowed',
    means:
      'A page of another origin tried to sign a buyer in or out, or the operator\'s role is too low: "needs" is the least role that may make the call.',
    todo: 'List the origin in CORS_ORIGINS, or ask an operator with that role.',
    more: ['needs'],
  },
  denied: {
    status: 403,
    title: 'You are kept out',
    means:
      'An operator has denied this buyer or the network address that the request came from, or the shop’s own risk check has.',
    todo: 'Ask the shop. An order that you hold stays yours.',
  },
  challenge_required: {
    status: 403,
    title: 'Solve the challenge first',
    means:
      'The sale asks for a challenge before a ticket. "challengeKind" says which: with "proof_of_work", "challenge" is an ALTCHA challenge for this buyer, item and attempt that expires after ten minutes; with "provider", it says which widget to show: {"provider", "siteKey", "script", "action", "cdata"}.',
    todo: 'Solve it, for example with altcha-lib, and ask for the ticket again with {"challenge": {"challenge": …, "solution": …}}; or with what the widget gave: {"challenge": {"token": …}}.',
    more: ['challengeKind', 'challenge'],
  },
  challenge_invalid: {
    status: 403,
    title: 'The challenge is not solved',
    means:
      'What came as "challenge" is no solution of a challenge that was made for this buyer, item and attempt, or it has expired: the detail says which.',
    todo: 'Ask for the ticket without a "challenge" to get a new one.',
  },
  not_found: {
    status: 404,
    title: 'There is no such thing',
    means:
      'There is nothing at this address, or nothing that you may see: orders of other buyers and drafts are answered like missing ones.',
    todo: 'Check the ids. Do not retry.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This address does not take that method',
    means: 'The address exists and takes other methods: they are in the Allow header.',
    todo: 'Use one of them.',
    headers: ['allow'],
  },
  sold_out: {
    status: 409,
    title: 'Sold out',
    detail: 'All units are taken. Units may return when orders are not paid in time.',
    means: 'All units are taken at this moment. Nothing was ordered and the attempt is not used up.',
    todo: 'Units return when orders are not paid in time: watch "left" of the item and order again with the same ticket.',
  },
  not_enough: {
    status: 409,
    title: 'Fewer are left than you asked for',
    means: 'Some units are left ("left"), but fewer than asked for. Nothing was ordered.',
    todo: 'Ask again with a smaller quantity.',
    more: ['left'],
  },
  not_in_line: {
    status: 404,
    title: 'You are not in this line',
    means: 'The sale has a waiting line, and this buyer has not joined it, or has left it.',
    todo: 'Join it with POST.',
  },
  not_drawn: {
    status: 409,
    title: 'The draw is not made yet',
    means: 'The sale has a line whose places are drawn, and they are not drawn yet.',
    todo: 'Ask again after "sealsAt" of the sale\'s line; with a beacon, when its value is published.',
  },
  not_sealed: {
    status: 409,
    title: 'The joins are not sealed yet',
    means: 'A beacon is a value that did not exist when the joins were sealed: it is entered after "sealsAt".',
    todo: 'Enter it after that moment.',
    more: ['sealsAt'],
  },
  beacon_not_taken: {
    status: 409,
    title: 'This beacon is not taken',
    means:
      'The draw names no beacon, fetches it from drand by itself, or has another value already. A draw is made once.',
    todo: 'Do not retry. The detail says which it is.',
  },
  claim_required: {
    status: 403,
    title: 'Your sign-in lacks what this line asks for',
    means:
      'The line of this sale takes buyers whose token has a certain claim ("claim" of the sale\'s line), a short text.',
    todo: 'Have the shop verify you, and sign in again.',
    more: ['claim'],
  },
  claim_used: {
    status: 409,
    title: 'You are in this line already',
    means:
      "Each value of the claim that the sale's line names may join once, and another buyer has joined with this one.",
    todo: 'Use the account that joined first.',
    more: ['claim'],
  },
  sale_not_open: {
    status: 409,
    title: 'The sale is not open yet',
    means:
      'The sale opens later ("opensAt"). Tickets are given out from "ticketsBeforeSeconds" of the sale before that, orders from the opening on.',
    todo: 'Wait until then by the clock of /api/time.',
    more: ['opensAt'],
  },
  sale_paused: {
    status: 409,
    title: 'The sale is paused',
    detail: 'The shop has paused the sale. Ask again in a moment with the same ticket.',
    means: 'The shop has paused the sale.',
    todo: 'Keep the ticket and ask again in a few seconds.',
  },
  attempts_used: {
    status: 409,
    title: 'All attempts are used',
    detail: 'You have ordered this item as often as the sale allows.',
    means: 'This buyer has ordered this item as often as the sale allows.',
    todo: 'Do not retry: this buyer can not order this item again.',
  },
  hold_limit: {
    status: 409,
    title: 'Too many units are held unpaid',
    detail: 'This account, or the network it comes from, holds as many unpaid units as the sale allows.',
    means:
      "The sale limits how many units may be held without paying: per buyer, per network or per claim of the shop's token. Open orders that are not paid count, and for a while " +
      'orders that ended unpaid or cancelled; after one of those a buyer may also have fewer attempts. Nothing was ordered and the attempt is not used up.',
    todo: 'Pay what is open. Otherwise ask again with the same ticket in a minute.',
  },
  not_changeable: {
    status: 409,
    title: 'This can no longer be changed',
    means: 'The field named by "field" can not be changed, or not in the state the sale is in.',
    todo: 'Read the sale to see its state.',
    more: ['field'],
  },
  not_retryable: {
    status: 409,
    title: 'This dead letter can not be tried again',
    means:
      'Orders were born of it already, no reservation can be read from it, or the database still does not take it: the detail says which.',
    todo: 'Read the dead letter. If the database refuses it, fix the cause first.',
  },
  order_paid: {
    status: 409,
    title: 'The order is paid',
    means:
      'The order is paid: it can be neither paid again nor cancelled. To a shop\'s report: another payment was first; "refundDue" says whether this money still has to go back.',
    todo: 'An operator can refund it.',
    more: ['refundDue'],
  },
  order_not_paid: {
    status: 409,
    title: 'The order is not paid',
    means: 'Only a paid order can be refunded.',
    todo: 'Cancel it instead, or wait for the payment.',
  },
  refund_invalid: {
    status: 422,
    title: 'So much can not be refunded',
    means:
      'The amount is more than is left of what was captured ("refundable"), in another currency, one part too many, or a part with "restock". "field" names what does not fit.',
    todo: 'Refund at most what is refundable, or leave the amount out to refund all of it.',
    more: ['field', 'refundable'],
  },
  order_closed: {
    status: 409,
    title: 'The order is closed',
    means: 'The order is closed (unpaid in time, cancelled, refused or refunded) and can no longer be paid.',
    todo: 'Get a new ticket: it carries the next attempt. A shop whose report is answered so gives the money back while "refundDue" is true.',
    more: ['refundDue'],
  },
  reference_used: {
    status: 409,
    title: 'This reference stands for something else',
    means:
      'The reference of a report belongs to another order, or a refund was confirmed before under another refundReference.',
    todo: 'Nothing was changed. Report each payment under a reference of its own, and each refund once.',
  },
  refund_not_due: {
    status: 409,
    title: 'No refund is due',
    means: 'The money of this payment does not have to go back: its order is paid, or the payment was never captured.',
    todo: 'Refund the order first (an operator does), then report that the money went back.',
  },
  contact_missing: {
    status: 409,
    title: 'The shop needs a contact first',
    detail: 'Say how you can be reached before you pay.',
    means:
      'The sale asks for a contact before the payment ("contactFields"), and the order has none, or not all of it: "missing" names the fields. The order stands, and its time to pay goes on.',
    todo: 'Send the missing fields with PATCH /api/orders/{id} {"contact": {…}} and start the payment again.',
    more: ['missing'],
  },
  contact_invalid: {
    status: 422,
    title: 'The contact does not fit',
    means:
      'A field of the contact is not what it must be, or is not asked for in this sale ("contactFields"). "field" names it. Nothing was ordered or changed.',
    todo: 'Correct the field and send it again.',
    more: ['field'],
  },
  payments_used: {
    status: 409,
    title: 'This order has had too many payments',
    detail: 'Too many payments of this order were started, and none was completed. Cancel the order to try again.',
    means: 'Twenty payments of this order were started, and none was completed. No more can be started.',
    todo: 'Do not retry. Cancel the order and get a new ticket: it carries the next attempt.',
  },
  payment_refused: {
    status: 409,
    title: 'The payment provider does not take this payment',
    detail:
      'The payment provider does not take this payment. Pay another way; your order stands until its time to pay is up.',
    means:
      'The provider refuses to start the payment for good: an amount it can not take, a payer that the method needs and that was not sent, or an account that lacks the method.',
    todo: 'Choose another provider or method. The log of the server has the provider’s own code.',
  },
  payment_settled: {
    status: 409,
    title: 'The payment was decided before',
    means: 'The sandbox payment was decided the other way before ("state").',
    todo: 'Start a new payment.',
    more: ['state'],
  },
  not_placed: {
    status: 409,
    title: 'The order is not placed yet',
    means: 'The order is reserved and not yet in the database.',
    todo: 'Ask again after Retry-After.',
    headers: ['retry-after'],
  },
  no_payment_provider: {
    status: 409,
    title: 'Payments are not set up here',
    detail: 'This shop has not set up payments here. Your order stands until its time to pay is up.',
    means: 'The server has no payment provider, so no payment can be started.',
    todo: 'Asking again does not help before the operator names a provider in PAYMENT_PROVIDERS.',
  },
  sale_over: {
    status: 410,
    title: 'The sale is over',
    detail: 'Nothing more is sold here. Your orders are at /api/orders.',
    means: 'The sale has ended. No more tickets, no more orders.',
    todo: 'Orders made before can still be seen and paid.',
  },
  cursor_expired: {
    status: 410,
    title: 'The cursor is older than what is kept',
    means:
      'Events behind the cursor have been deleted: they are kept for EVENTS_KEPT. "oldest" is the lowest cursor, or the earliest time, that can be read from.',
    todo: 'Read from "oldest", and compare your orders with the order lists of the sales meanwhile.',
    more: ['oldest'],
  },
  body_too_large: {
    status: 413,
    title: 'The request is too large',
    detail: 'A request body may have 16 KiB.',
    means: 'A request body may have 16 KiB, an image 2 MB.',
    todo: 'Send less.',
  },
  images_full: {
    status: 409,
    title: 'There is no room for another image',
    means: 'The server keeps so many uploaded images, and so many bytes of them together. This one was not kept.',
    todo: 'Put the image on a host of your own, and name its https address as the "image" of the item.',
  },
  url_not_allowed: {
    status: 422,
    title: 'Nothing is sent to this address',
    means:
      'The address of a webhook is not https, holds a password or a # part, or leads to an address that is not public.',
    todo: 'Give a public https address, or allow its network with WEBHOOK_ALLOW_PRIVATE.',
    more: ['field'],
  },
  amount_mismatch: {
    status: 422,
    title: 'This is not the amount of the order',
    means: 'The amount or currency of a report is not that of the order ("expected"). Nothing was recorded.',
    todo: 'If the report is wrong, correct it and send it again. If that amount was really taken, give it back: the order is not paid.',
    more: ['expected'],
  },
  currency_not_taken: {
    status: 422,
    title: 'A payment provider does not take this currency',
    means:
      'The sale can not be published: a provider that it names does not take the currency of an item, or, where it names none, no provider does.',
    todo: 'Change "paymentProviders" or the currency of the draft, or configure a provider that takes it.',
  },
  quantity_invalid: {
    status: 422,
    title: 'That quantity is not offered',
    means: 'The quantity is not a whole number from 1 to "quantityMax".',
    todo: 'Ask for a quantity within these bounds.',
    more: ['field', 'quantityMax'],
  },
  idempotency_key_reused: {
    status: 422,
    title: 'This Idempotency-Key was used for something else',
    means: 'This Idempotency-Key came with another body before. Nothing was changed.',
    todo: 'Use a new key for a new request. Send the same key only to repeat the same request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    means: 'Too many requests; RateLimit-Policy names the limit, RateLimit says when there is room again.',
    todo: 'Wait for Retry-After seconds, then ask again with the same ticket.',
    headers: ['retry-after', 'ratelimit', 'ratelimit-policy'],
  },
  internal: {
    status: 500,
    title: 'Something went wrong on our side',
    means: 'The server failed unexpectedly. "requestId" finds the error in its log.',
    todo: 'Ask again; if the error stays, report the request id.',
    more: ['requestId'],
  },
  busy: {
    status: 503,
    title: 'Busy',
    detail:
      'The answer is not known yet, or too many are waiting. Ask again with the same ticket: nothing is ordered twice.',
    means:
      'Too many requests are waiting, the database or Redis does not answer, or it is not known yet whether the call took effect.',
    todo: 'Ask again after Retry-After with the same ticket, attempt or Idempotency-Key: nothing happens twice.',
    headers: ['retry-after'],
  },
} as const satisfies Record<string, Problem>

export const PROBLEMS: Readonly<Record<ProblemCode, Problem>> = CATALOGUE

export const PROBLEM_CODES = Object.keys(CATALOGUE) as readonly ProblemCode[]

/** The members that every problem body has. */
export function problemBody(code: ProblemCode, detail: string) {
  const { status, title } = PROBLEMS[code]
  return { type: `/docs/errors#${code}`, title, status, detail, code }
}
