/** What buyers call, and payment providers. */

import {
  orderAnswer,
  ordersAnswer,
  paymentStartedAnswer,
  saleAnswer,
  salesAnswer,
  sessionAnswer,
  ticketAnswer,
  timeAnswer,
  whoAnswer,
} from '../answers.ts'
import type { Call } from '../call.ts'
import { orderInput, pageQuery, paymentInput, sessionInput, ticketInput } from '../inputs.ts'
import { ORDER, SALE, TICKET } from './examples.ts'

const buyers = { group: 'Buyers' } as const
const NO_STORE = ['cache-control']

export const TIME = {
  ...buyers,
  method: 'GET',
  path: '/api/time',
  summary: 'The time by which sales open',
  who: 'anyone',
  answers: {
    200: {
      what: 'The clock of the gate. Countdowns should run by it.',
      body: timeAnswer,
      headers: NO_STORE,
      example: { now: '2026-11-13T09:59:58.500Z', unixMs: 1794563998500 },
    },
  },
  problems: [],
} satisfies Call

export const SALES = {
  ...buyers,
  method: 'GET',
  path: '/api/sales',
  summary: 'All sales that are published',
  who: 'anyone',
  takes: ['If-None-Match'],
  answers: {
    200: { what: 'The sales.', body: salesAnswer, headers: ['etag'], example: { sales: [SALE] } },
    304: { what: 'As you know it.', headers: ['etag'] },
  },
  problems: [],
} satisfies Call

export const SALE_SHOWN = {
  ...buyers,
  method: 'GET',
  path: '/api/sales/{sale}',
  summary: 'One sale with its items',
  who: 'anyone',
  takes: ['If-None-Match'],
  answers: {
    200: { what: 'The sale.', body: saleAnswer, headers: ['etag'], example: SALE },
    304: { what: 'As you know it.', headers: ['etag'] },
  },
  problems: [],
} satisfies Call

export const SESSION = {
  ...buyers,
  method: 'POST',
  path: '/api/session',
  summary: 'Sign in a browser page, or a guest',
  more:
    "With the shop's token as bearer: a cookie for the page. Without one, where guests are let in: a guest token. " +
    'The cookie is HttpOnly and SameSite=Lax, and Secure when PUBLIC_URL is https.',
  who: 'anyone',
  body: { schema: sessionInput, example: { buyer: 'ada' } },
  answers: {
    200: {
      what: 'A guest: the token, also as a cookie.',
      body: sessionAnswer,
      headers: ['set-cookie', ...NO_STORE],
      example: { token: 'eyJhbGciOiJIUzI1NiJ9.…', buyer: 'ada' },
    },
    204: { what: "The shop's token is in the cookie.", headers: ['set-cookie'] },
  },
  problems: ['unauthenticated'],
} satisfies Call

/** Asked by the page, which can't see its own cookie. */
const SESSION_READ = {
  ...buyers,
  method: 'GET',
  path: '/api/session',
  summary: 'Who is signed in here?',
  who: 'anyone',
  answers: {
    200: {
      what: 'The buyer, or null; and whether guests are let in.',
      body: whoAnswer,
      headers: NO_STORE,
      example: { buyer: 'ada', guests: false },
    },
  },
  problems: [],
} satisfies Call

export const TICKET_GIVEN = {
  ...buyers,
  method: 'POST',
  path: '/api/sales/{sale}/items/{item}/ticket',
  summary: 'A ticket: the right to try',
  more:
    'From the warm-up on, also when the item is sold out (units return). With a live order the ticket carries its attempt, ' +
    'after a closed one the next.',
  who: 'buyer',
  body: { schema: ticketInput, example: {} },
  answers: { 201: { what: 'The ticket.', body: ticketAnswer, headers: NO_STORE, example: TICKET } },
  problems: ['sale_not_open', 'attempts_used', 'sale_over', 'rate_limited'],
} satisfies Call

export const ORDER_TAKEN = {
  ...buyers,
  method: 'POST',
  path: '/api/sales/{sale}/items/{item}/orders',
  summary: 'Order',
  more:
    'The ticket is the bearer. What wins, first to last: unknown sale or item; this buyer and attempt have an order already (200, whatever ' +
    'else is true); window, pause, sold out; rate limits; ticket; body. Asking again with the same ticket never orders twice.',
  who: 'ticket',
  body: { schema: orderInput, example: { quantity: 1 } },
  answers: {
    200: { what: 'The order that stood already.', body: orderAnswer, headers: ['location'], example: ORDER },
    201: { what: 'Placed: the order is committed.', body: orderAnswer, headers: ['location'], example: ORDER },
    202: {
      what: 'Reserved: it will be placed, or refused explicitly. Never when embedded.',
      body: orderAnswer,
      headers: ['location'],
      example: { ...ORDER, state: 'reserved', placedAt: undefined, payBy: undefined },
    },
  },
  problems: [
    'ticket_invalid',
    'sold_out',
    'not_enough',
    'sale_not_open',
    'sale_paused',
    'attempts_used',
    'sale_over',
    'quantity_invalid',
    'rate_limited',
  ],
  apart: true,
} satisfies Call

export const OWN_ORDERS = {
  ...buyers,
  method: 'GET',
  path: '/api/orders',
  summary: "The buyer's orders, newest first",
  who: 'buyer',
  query: pageQuery(50, 100),
  answers: {
    200: {
      what: 'A page of orders.',
      body: ordersAnswer,
      headers: NO_STORE,
      example: { orders: [ORDER], next: null },
    },
  },
  problems: [],
} satisfies Call

export const OWN_ORDER = {
  ...buyers,
  method: 'GET',
  path: '/api/orders/{id}',
  summary: "One of the buyer's orders",
  who: 'buyer',
  answers: { 200: { what: 'The order.', body: orderAnswer, headers: NO_STORE, example: ORDER } },
  problems: [],
} satisfies Call

export const ORDER_CANCELLED = {
  ...buyers,
  method: 'POST',
  path: '/api/orders/{id}/cancel',
  summary: 'Cancel an order that is not paid',
  who: 'buyer',
  answers: {
    200: {
      what: 'The order, closed. Again: the same.',
      body: orderAnswer,
      example: { ...ORDER, state: 'closed', reason: 'cancelled', closedAt: '2026-11-13T10:01:00.000Z' },
    },
  },
  problems: ['order_paid', 'not_placed'],
} satisfies Call

export const PAYMENT_STARTED = {
  ...buyers,
  method: 'POST',
  path: '/api/orders/{id}/payment',
  summary: 'Start to pay',
  more: 'Send the buyer to payUrl. Asking again continues the same payment.',
  who: 'buyer',
  body: { schema: paymentInput, example: { returnUrl: 'https://shop.example/thanks' } },
  answers: {
    201: {
      what: 'Where to pay.',
      body: paymentStartedAnswer,
      example: { payment: '4711001337000200', provider: 'sandbox', payUrl: 'https://sale.example/sandbox/pay/…' },
    },
  },
  problems: ['order_closed', 'order_paid', 'not_placed'],
} satisfies Call

export const CALLBACK = {
  ...buyers,
  method: 'POST',
  path: '/api/payments/{provider}/callback',
  summary: 'A payment provider reports',
  more: 'Signed by the provider, in its own form. Idempotent.',
  who: 'provider',
  answers: { 200: { what: 'What the provider expects.', texts: ['text/plain', 'application/json'] } },
  problems: ['signature_invalid', 'body_invalid', 'body_too_large'],
} satisfies Call

const LIVE = {
  ...buyers,
  method: 'GET',
  path: '/api/live',
  summary: 'WebSocket: what changes, as it changes',
  more:
    'Bearer or cookie. Messages: {"type":"order","order"} for the buyer\'s own orders, {"type":"stock","sale","item","left"} ' +
    '(coalesced), {"type":"sale","sale"}. After a reconnect the current state comes first.',
  who: 'buyer',
  takes: ['Upgrade'],
  answers: { 101: { what: 'Switched to WebSocket.' } },
  problems: ['body_invalid'],
  apart: true,
} satisfies Call

export const BUYER_CALLS: readonly Call[] = [
  TIME,
  SALES,
  SALE_SHOWN,
  SESSION,
  SESSION_READ,
  TICKET_GIVEN,
  ORDER_TAKEN,
  OWN_ORDERS,
  OWN_ORDER,
  ORDER_CANCELLED,
  PAYMENT_STARTED,
  CALLBACK,
  LIVE,
]
