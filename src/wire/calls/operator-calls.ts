/** What operators call. */

import { z } from 'zod'
import {
  auditsAnswer,
  logAnswer,
  operatorSaleAnswer,
  operatorSalesAnswer,
  ordersAnswer,
  reportAnswer,
  reportsAnswer,
  stockChangeAnswer,
  wholeOrderAnswer,
} from '../answers.ts'
import type { Call } from '../call.ts'
import { ordersQuery, pageQuery, refundInput, saleEdit, saleInput, stockInput } from '../inputs.ts'
import { AUDIT, NEW_SALE, OPERATOR_SALE, ORDER, WHOLE_ORDER } from './examples.ts'

const operators = { group: 'Operators', who: 'operator' } as const

export const SALE_CREATED = {
  ...operators,
  method: 'POST',
  path: '/api/admin/sales',
  summary: 'Create a sale, as a draft',
  takes: ['Idempotency-Key'],
  body: { schema: saleInput, example: NEW_SALE },
  answers: {
    201: {
      what: 'The draft.',
      body: operatorSaleAnswer,
      headers: ['location'],
      example: { ...OPERATOR_SALE, state: 'draft' },
    },
  },
  problems: ['idempotency_key_reused'],
} satisfies Call

export const ALL_SALES = {
  ...operators,
  method: 'GET',
  path: '/api/admin/sales',
  summary: 'All sales, drafts too',
  answers: { 200: { what: 'The sales.', body: operatorSalesAnswer, example: { sales: [OPERATOR_SALE] } } },
  problems: [],
} satisfies Call

export const ANY_SALE = {
  ...operators,
  method: 'GET',
  path: '/api/admin/sales/{sale}',
  summary: 'One sale, a draft too',
  answers: { 200: { what: 'The sale.', body: operatorSaleAnswer, example: OPERATOR_SALE } },
  problems: [],
} satisfies Call

const SALE_EDITED = {
  ...operators,
  method: 'PATCH',
  path: '/api/admin/sales/{sale}',
  summary: 'Change a sale',
  more:
    'A draft is free to change; later only what is safe: not_changeable names what is not. What is missing stays as it is, of an item with ' +
    "its id too; but the items of a draft are the whole list from now on: one that isn't in it is gone.",
  body: { schema: saleEdit, example: { name: 'Black Friday' } },
  answers: { 200: { what: 'The sale as it is now.', body: operatorSaleAnswer, example: OPERATOR_SALE } },
  problems: ['not_changeable'],
} satisfies Call

const SALE_DELETED = {
  ...operators,
  method: 'DELETE',
  path: '/api/admin/sales/{sale}',
  summary: 'Delete a draft',
  answers: { 204: { what: 'It is gone.' } },
  problems: ['not_changeable'],
} satisfies Call

const MOVES = {
  publish: 'Publish: from now on it warms, opens and ends by itself',
  warm: 'Warm at once instead of before the opening',
  pause: 'Pause at once',
  resume: 'Resume at once',
  end: 'End at once and for good',
} as const

/** `POST /api/admin/sales/{sale}/publish` and its like. */
export function saleMoved(name: keyof typeof MOVES) {
  return {
    ...operators,
    method: 'POST',
    path: `/api/admin/sales/{sale}/${name}`,
    summary: MOVES[name],
    more: 'Doing it again is no mistake.',
    answers: { 200: { what: 'The sale; the gate has it.', body: operatorSaleAnswer, example: OPERATOR_SALE } },
    problems: ['not_changeable'],
  } satisfies Call
}

export const STOCK_CHANGED = {
  ...operators,
  method: 'POST',
  path: '/api/admin/sales/{sale}/items/{item}/stock',
  summary: 'Put more units on sale, or take some off',
  more: 'Changes are numbered. A decrease takes what is there and reports the shortfall.',
  takes: ['Idempotency-Key'],
  body: { schema: stockInput, example: { delta: 100, reason: 'a second pallet' } },
  answers: {
    200: {
      what: 'The change.',
      body: stockChangeAnswer,
      example: {
        no: 1,
        delta: 100,
        taken: 0,
        shortfall: 0,
        reason: 'a second pallet',
        by: 'admin',
        at: '2026-11-13T10:05:00.000Z',
      },
    },
  },
  problems: ['idempotency_key_reused'],
} satisfies Call

export const DOOR_OPENED = {
  ...operators,
  method: 'POST',
  path: '/api/admin/sales/{sale}/items/{item}/door',
  summary: 'Let the ledger sell an item whose door was shut because the gate is away',
  more:
    'In a cluster only. The door is shut when a process that sold the item is gone without a word while the gate is away: what it told ' +
    "buyers last may be on the gate's disk alone, and may turn into a refusal once the ledger sells. It stands until the gate is back.",
  body: { schema: z.strictObject({ door: z.literal('ledger') }), example: { door: 'ledger' } },
  answers: { 200: { what: 'The sale; the ledger sells the item.', body: operatorSaleAnswer, example: OPERATOR_SALE } },
  problems: ['not_changeable'],
} satisfies Call

export const SALE_ORDERS = {
  ...operators,
  method: 'GET',
  path: '/api/admin/sales/{sale}/orders',
  summary: 'Orders of a sale, by cursor',
  more: 'With Accept: text/csv all of them are streamed as CSV.',
  takes: ['Accept'],
  query: ordersQuery,
  answers: {
    200: {
      what: 'A page of orders, or all as CSV.',
      body: ordersAnswer,
      texts: ['text/csv'],
      example: { orders: [ORDER], next: ORDER.id },
    },
  },
  problems: [],
} satisfies Call

export const ANY_ORDER = {
  ...operators,
  method: 'GET',
  path: '/api/admin/orders/{id}',
  summary: 'One order with its payments and history',
  answers: { 200: { what: 'The order.', body: wholeOrderAnswer, example: WHOLE_ORDER } },
  problems: [],
} satisfies Call

export const ANY_ORDER_CANCELLED = {
  ...operators,
  method: 'POST',
  path: '/api/admin/orders/{id}/cancel',
  summary: 'Cancel an order that is not paid',
  answers: { 200: { what: 'The order, closed. Again: the same.', body: wholeOrderAnswer, example: WHOLE_ORDER } },
  problems: ['order_paid', 'not_placed'],
} satisfies Call

export const ORDER_REFUNDED = {
  ...operators,
  method: 'POST',
  path: '/api/admin/orders/{id}/refund',
  summary: 'Refund a paid order',
  more: 'With "restock" its units are on sale again.',
  body: { schema: refundInput, example: { restock: true } },
  answers: { 200: { what: 'The order, closed/refunded.', body: wholeOrderAnswer, example: WHOLE_ORDER } },
  problems: ['order_not_paid', 'not_placed'],
} satisfies Call

export const AUDIT_READ = {
  ...operators,
  method: 'GET',
  path: '/api/admin/sales/{sale}/audit',
  summary: 'Units by state, gate and ledger side by side',
  answers: { 200: { what: 'One line per item.', body: auditsAnswer, example: { items: [AUDIT] } } },
  problems: [],
} satisfies Call

export const RECONCILED = {
  ...operators,
  method: 'POST',
  path: '/api/admin/sales/{sale}/reconcile',
  summary: 'Compare gate, ledger and payments, and repair',
  answers: {
    200: { what: 'What differed, what was done.', body: reportAnswer, example: { differences: [], repairs: [] } },
  },
  problems: [],
} satisfies Call

export const REPORTS = {
  ...operators,
  method: 'GET',
  path: '/api/admin/sales/{sale}/reports',
  summary: 'What the sale came to, and the latest reconciliations',
  answers: { 200: { what: 'Results and reports.', body: reportsAnswer, example: { results: [], reports: [] } } },
  problems: [],
} satisfies Call

export const LOG_READ = {
  ...operators,
  method: 'GET',
  path: '/api/admin/log',
  summary: 'Who changed what, when',
  query: pageQuery(100, 1000),
  answers: {
    200: {
      what: 'A page of the log, oldest first.',
      body: logAnswer,
      example: {
        log: [
          {
            id: '7',
            at: '2026-11-13T09:00:00.000Z',
            by: 'admin',
            action: 'sale.publish',
            sale: OPERATOR_SALE.id,
            details: {},
          },
        ],
        next: null,
      },
    },
  },
  problems: [],
} satisfies Call

export const OPERATOR_CALLS: readonly Call[] = [
  SALE_CREATED,
  ALL_SALES,
  ANY_SALE,
  SALE_EDITED,
  SALE_DELETED,
  saleMoved('publish'),
  saleMoved('warm'),
  saleMoved('pause'),
  saleMoved('resume'),
  saleMoved('end'),
  STOCK_CHANGED,
  DOOR_OPENED,
  SALE_ORDERS,
  ANY_ORDER,
  ANY_ORDER_CANCELLED,
  ORDER_REFUNDED,
  AUDIT_READ,
  RECONCILED,
  REPORTS,
  LOG_READ,
]
