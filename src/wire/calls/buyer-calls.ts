/** The calls of buyers and payment providers, and the demo's crowd: simulated buyers that a guest may send to the demo sale. */

import { z } from 'zod'
import {
  demoAnswer,
  orderAnswer,
  ordersAnswer,
  paymentStartedAnswer,
  plainId,
  saleAnswer,
  salesAnswer,
  sessionAnswer,
  ticketAnswer,
  timeAnswer,
  whoAnswer,
} from '../answers.ts'
import { type Call, callsFor, json, NO_STORE, uncached } from '../call.ts'
import { orderEdit, orderInput, orderQuery, pageQuery, paymentInput, sessionInput, ticketInput } from '../inputs.ts'
import { ownOrderAnswer } from '../orders/own-order.ts'
import { CONTACT, ORDER, SALE, TICKET } from './examples.ts'

const anyone = callsFor('Buyers', 'anyone')
const buyer = callsFor('Buyers', 'buyer')
const NOT_CHANGED = { what: 'Not changed since that ETag.', headers: ['etag'] }
const demoQuery = z.object({ sale: plainId.optional().describe('Which of the demo sales; without it the first.') })
const DEMO = { sale: SALE.id, buyers: 2000 }

export const buyerCalls = {
  time: anyone.get('/api/time', 'The time by which sales open', {
    answers: {
      200: uncached('The clock of the gate. Countdowns should run by it.', timeAnswer, {
        now: '2026-11-13T09:59:58.500Z',
        unixMs: 1794563998500,
      }),
    },
  }),
  sales: anyone.get('/api/sales', 'All sales that are published', {
    takes: ['If-None-Match'],
    answers: { 200: json('The sales.', salesAnswer, { sales: [SALE] }, ['etag']), 304: NOT_CHANGED },
  }),
  sale: anyone.get('/api/sales/{sale}', 'One sale with its items', {
    takes: ['If-None-Match'],
    answers: { 200: json('The sale.', saleAnswer, SALE, ['etag']), 304: NOT_CHANGED },
  }),
  signIn: anyone.post('/api/session', 'Sign in a browser page, or a guest', {
    more:
      "With the shop's token as bearer: a cookie for the page. Without one, where guests are allowed: a guest token. " +
      'The cookie is HttpOnly and SameSite=Lax; when PUBLIC_URL is https it is Secure, and its name begins with __Host- (for this release it is also set without).',
    body: { schema: sessionInput, example: { buyer: 'ada' } },
    answers: {
      200: json(
        'A guest: the token, also as a cookie.',
        sessionAnswer,
        { token: 'eyJhbGciOiJIUzI1NiJ9.…', buyer: 'ada' },
        ['set-cookie', ...NO_STORE],
      ),
      204: { what: "The shop's token is in the cookie.", headers: ['set-cookie'] },
    },
    problems: ['unauthenticated', 'forbidden'],
  }),
  signOut: anyone.delete('/api/session', 'Sign out a browser page', {
    more: 'Takes the cookie away. The token itself is good until its end: give short ones, and sign out at the shop too.',
    answers: { 204: { what: 'The browser has no session any more.', headers: ['set-cookie', ...NO_STORE] } },
    problems: ['forbidden'],
  }),
  /** For the page, which can't read its own cookie. */
  session: anyone.get('/api/session', 'Who is signed in here?', {
    answers: {
      200: uncached(
        'The buyer, or null; whether guests are allowed; and where to sign in at the shop, if that is set.',
        whoAnswer,
        {
          buyer: null,
          guests: false,
          signInUrl: 'https://shop.example/sign-in?back={return}',
        },
      ),
    },
  }),
  ticket: buyer.post('/api/sales/{sale}/items/{item}/ticket', 'A ticket: the right to try', {
    more:
      'From `ticketsBeforeSeconds` before the opening on, also when the item is sold out (units return). With a live order the ticket carries ' +
      'its attempt, after a closed one the next. Where the sale has a `challenge`, the first call is answered with `challenge_required`, and the ' +
      'next one brings the solution; a buyer with a live order is never asked for one. Where the sale has a line, only who is let in gets a ticket, until the time to claim is over.',
    body: { schema: ticketInput, example: {} },
    answers: { 201: uncached('The ticket.', ticketAnswer, TICKET) },
    problems: [
      'challenge_required',
      'challenge_invalid',
      'not_admitted',
      'sale_not_open',
      'attempts_used',
      'hold_limit',
      'sale_over',
      'rate_limited',
    ],
  }),
  takeOrder: callsFor('Buyers', 'ticket').post('/api/sales/{sale}/items/{item}/orders', 'Order', {
    more:
      'The ticket is the bearer. What wins, first to last: unknown sale or item; this buyer and attempt have an order already (200, whatever ' +
      'else is true); window, pause, sold out; rate limits; ticket; body. Asking again with the same ticket never orders twice. ' +
      'Contact and metadata are kept beside the order, and written after it: the answer does not show them. If they are lost, the order stands.',
    body: { schema: orderInput, example: { quantity: 1 } },
    answers: {
      200: json('The order that exists already.', orderAnswer, ORDER, ['location']),
      201: json('Placed: the order is committed.', orderAnswer, ORDER, ['location']),
      202: json(
        'Reserved: it will be placed, or refused explicitly. In a cluster only.',
        orderAnswer,
        { ...ORDER, state: 'reserved', placedAt: undefined, payBy: undefined },
        ['location'],
      ),
    },
    problems: [
      'ticket_invalid',
      'sold_out',
      'not_enough',
      'sale_not_open',
      'sale_paused',
      'attempts_used',
      'hold_limit',
      'sale_over',
      'quantity_invalid',
      'contact_invalid',
      'rate_limited',
    ],
    apart: true,
  }),
  ownOrders: buyer.get('/api/orders', "The buyer's orders, newest first", {
    query: pageQuery(50, 100),
    answers: { 200: uncached('A page of orders.', ordersAnswer, { orders: [ORDER], next: null }) },
  }),
  ownOrder: buyer.get('/api/orders/{id}', "One of the buyer's orders", {
    query: orderQuery,
    answers: { 200: uncached('The order.', ownOrderAnswer, ORDER) },
  }),
  editOrder: buyer.patch('/api/orders/{id}', 'Say how the buyer can be reached', {
    more: 'Until the order is paid. Which fields: `contactFields` of the sale.',
    body: { schema: orderEdit, example: { contact: CONTACT } },
    answers: { 200: uncached('The order.', ownOrderAnswer, { ...ORDER, contact: CONTACT }) },
    problems: ['contact_invalid', 'order_paid', 'order_closed'],
  }),
  cancelOrder: buyer.post('/api/orders/{id}/cancel', 'Cancel an order that is not paid', {
    answers: {
      200: json('The order, closed. Again: the same.', orderAnswer, {
        ...ORDER,
        state: 'closed',
        reason: 'cancelled',
        closedAt: '2026-11-13T10:01:00.000Z',
      }),
    },
    problems: ['order_paid', 'not_placed'],
  }),
  startPayment: buyer.post('/api/orders/{id}/payment', 'Start to pay', {
    more: 'Send the buyer to payUrl. Asking again continues the same payment; with another provider or method, that payment is cancelled and another begins.',
    body: { schema: paymentInput, example: { returnUrl: 'https://shop.example/thanks' } },
    answers: {
      201: uncached('Where to pay.', paymentStartedAnswer, {
        payment: '4711001337000200',
        provider: 'sandbox',
        method: 'page',
        payUrl: 'https://sale.example/sandbox/pay/…',
      }),
    },
    problems: [
      'contact_missing',
      'order_closed',
      'order_paid',
      'payments_used',
      'payment_refused',
      'not_placed',
      'no_payment_provider',
    ],
  }),
  callback: callsFor('Buyers', 'provider').post('/api/payments/{provider}/callback', 'A payment provider reports', {
    more: 'Signed by the provider, in its own form. Idempotent.',
    answers: { 200: { what: 'What the provider expects.', texts: ['text/plain', 'application/json'] } },
    problems: ['signature_invalid', 'body_invalid', 'body_too_large', 'busy'],
  }),
  live: buyer.get('/api/live', 'WebSocket: what changes, as it changes', {
    more:
      'Bearer or cookie. Messages: {"type":"order","order"} for the buyer\'s own orders, {"type":"stock","sale","item","left"} ' +
      '(coalesced), {"type":"sale","sale"}, {"type":"line","sale","place","ahead","state","left"} for a buyer in a waiting line ' +
      '(at once when the state changes, when it is sold out and when units come back; at most once a second when only `ahead` does). After a reconnect the current state comes first.',
    takes: ['Upgrade'],
    answers: { 101: { what: 'Switched to WebSocket.' } },
    problems: ['body_invalid'],
    apart: true,
  }),
  demo: anyone.get('/api/demo', 'Is there a demo sale, and what is its crowd doing?', {
    query: demoQuery,
    answers: { 200: uncached('What the crowd is doing.', demoAnswer, { ...DEMO, crowd: 'offered' }) },
  }),
  bringCrowd: buyer.post('/api/demo/crowd', 'Send simulated buyers to the demo sale', {
    query: demoQuery,
    more: 'For guests of this server. Before the opening they get their tickets and wait for it, or join the waiting line. While they are running, asking again changes nothing.',
    answers: { 202: uncached('The buyers have started.', demoAnswer, { ...DEMO, crowd: 'running' }) },
    problems: ['not_found'],
  }),
} satisfies Record<string, Call>
