/** The calls of operators, and the two made for the operations page: a sale with everything about it, and what is wrong. */

import { IMAGE_BYTES_MAX, IMAGE_TYPES } from '../../domain/image.ts'
import {
  auditsAnswer,
  imageAnswer,
  logAnswer,
  operatorSaleAnswer,
  operatorSalesAnswer,
  ordersAnswer,
  reportAnswer,
  reportsAnswer,
  stockChangeAnswer,
  troublesAnswer,
  watchAnswer,
  wholeOrderAnswer,
} from '../answers.ts'
import { type Call, callsForOperators, json } from '../call.ts'
import {
  copyInput,
  doorInput,
  ordersQuery,
  pageQuery,
  refundInput,
  saleEdit,
  saleInput,
  stockInput,
  watchQuery,
} from '../inputs.ts'
import { ORDER_STORY, orderStoryAnswer } from '../order-story.ts'
import { foundOrdersAnswer, foundOrdersQuery } from '../orders/found-orders.ts'
import {
  AT,
  AUDIT,
  IMAGE,
  LOG_LINE,
  NEW_SALE,
  OPERATOR_SALE,
  ORDER,
  STOCK_CHANGE,
  WATCH,
  WHOLE_ORDER,
} from './examples.ts'

/** What only reads. */
const viewers = callsForOperators('Operators', 'viewer')
/** What runs sales and their orders. */
const operators = callsForOperators('Operators', 'operator')
/** What may cost a buyer a reservation that was acknowledged. */
const admins = callsForOperators('Operators', 'admin')

function moveOf(name: string, summary: string) {
  return operators.post(`/api/admin/sales/{sale}/${name}`, summary, {
    more: 'Idempotent.',
    answers: { 200: json('The sale; the gate has it.', operatorSaleAnswer, OPERATOR_SALE) },
    problems: ['not_changeable', ...(name === 'publish' ? (['currency_not_taken'] as const) : [])],
  })
}

export const operatorCalls = {
  createSale: operators.post('/api/admin/sales', 'Create a sale, as a draft', {
    takes: ['Idempotency-Key'],
    body: { schema: saleInput, example: NEW_SALE },
    answers: { 201: json('The draft.', operatorSaleAnswer, { ...OPERATOR_SALE, state: 'draft' }, ['location']) },
    problems: ['idempotency_key_reused'],
  }),
  sales: viewers.get('/api/admin/sales', 'All sales, drafts too', {
    answers: { 200: json('The sales.', operatorSalesAnswer, { sales: [OPERATOR_SALE] }) },
  }),
  sale: viewers.get('/api/admin/sales/{sale}', 'One sale, a draft too', {
    answers: { 200: json('The sale.', operatorSaleAnswer, OPERATOR_SALE) },
  }),
  editSale: operators.patch('/api/admin/sales/{sale}', 'Change a sale', {
    more:
      'Everything of a draft can be changed; later only what is safe: not_changeable names what is not. Fields that are missing stay as they ' +
      "are, also those of an item given with its id; but the items of a draft are the whole list from now on: one that isn't in it is deleted.",
    body: { schema: saleEdit, example: { name: 'Black Friday' } },
    answers: { 200: json('The sale as it is now.', operatorSaleAnswer, OPERATOR_SALE) },
    problems: ['not_changeable'],
  }),
  addImage: operators.post('/api/admin/images', 'Upload a picture, for the `image` of an item', {
    more:
      `The body is the file: PNG, JPEG, WebP, GIF or AVIF, told by its first bytes, with at most ${IMAGE_BYTES_MAX / 1e6} MB. It is kept in the database and ` +
      'served to everybody as it came, with whatever the camera wrote into it. The same file again answers the same address. Nothing deletes it.',
    file: Object.values(IMAGE_TYPES),
    answers: { 201: json('Where it is served, on this server.', imageAnswer, { image: IMAGE }, ['location']) },
    problems: ['images_full'],
  }),
  copySale: operators.post('/api/admin/sales/{sale}/copy', 'Copy a sale, as a new draft or as a template', {
    more: 'With everything it is set to, in a window of its own. Orders and changes of stock stay with the sale.',
    takes: ['Idempotency-Key'],
    body: { schema: copyInput, example: { name: 'Friday, again', opensAt: '2026-11-20T10:00:00Z' } },
    answers: { 201: json('The draft.', operatorSaleAnswer, { ...OPERATOR_SALE, state: 'draft' }, ['location']) },
    problems: ['idempotency_key_reused'],
  }),
  deleteSale: operators.delete('/api/admin/sales/{sale}', 'Delete a draft', {
    answers: { 204: { what: 'It is deleted.' } },
    problems: ['not_changeable'],
  }),
  publish: moveOf('publish', 'Publish: from now on it warms, opens and ends by itself'),
  warm: moveOf('warm', 'Warm at once instead of before the opening'),
  pause: moveOf('pause', 'Pause at once'),
  resume: moveOf('resume', 'Resume at once'),
  end: moveOf('end', 'End at once and for good'),
  changeStock: operators.post(
    '/api/admin/sales/{sale}/items/{item}/stock',
    'Put more units on sale, or take some off',
    {
      more: 'Changes are numbered. A decrease takes what is available and reports the shortfall.',
      takes: ['Idempotency-Key'],
      body: { schema: stockInput, example: { delta: 100, reason: 'a second pallet' } },
      answers: { 200: json('The change.', stockChangeAnswer, STOCK_CHANGE) },
      problems: ['idempotency_key_reused'],
    },
  ),
  openDoor: admins.post(
    '/api/admin/sales/{sale}/items/{item}/door',
    'Let the ledger sell an item whose door was shut because Redis is away',
    {
      more:
        'In a cluster only. The door is shut when a process that sold the item stopped without a report while Redis was away: reservations that ' +
        'it acknowledged last may exist only on the disk of Redis, and may be refused once the ledger sells. The decision holds until Redis is back.',
      body: { schema: doorInput, example: { door: 'ledger' } },
      answers: { 200: json('The sale; the ledger sells the item.', operatorSaleAnswer, OPERATOR_SALE) },
      problems: ['not_changeable'],
    },
  ),
  orders: viewers.get('/api/admin/sales/{sale}/orders', 'Orders of a sale, by cursor', {
    more: 'With Accept: text/csv all of them are streamed as CSV; with layout=people as a sheet for a spreadsheet.',
    takes: ['Accept'],
    query: ordersQuery,
    answers: {
      200: {
        ...json('A page of orders, or all as CSV.', ordersAnswer, { orders: [ORDER], next: ORDER.id }),
        texts: ['text/csv'],
      },
    },
  }),
  findOrders: viewers.get('/api/admin/orders', 'Orders over all sales, newest first', {
    more:
      'With updatedAfter: those that changed since, the oldest change first; an order that changes again comes again. To follow all changes, read until `next` is null, ' +
      'then ask with the last `updatedAt` less a minute. A page may hold fewer orders than its limit, or none, and still have a `next`.',
    query: foundOrdersQuery,
    answers: {
      200: json('A page of orders.', foundOrdersAnswer, {
        orders: [ORDER],
        next: ORDER.id,
        total: 4711,
        totalIsExact: true,
      }),
    },
    problems: ['cursor_expired'],
  }),
  order: viewers.get('/api/admin/orders/{id}', 'One order with its payments and history', {
    answers: { 200: json('The order.', wholeOrderAnswer, WHOLE_ORDER) },
  }),
  orderStory: viewers.get('/api/admin/orders/{id}/story', 'What happened to an order, by whom, and how long it took', {
    more: 'From its rows, its payments and the log of operators, oldest first. Times are from the clocks of several machines.',
    answers: { 200: json('The order and its steps.', orderStoryAnswer, ORDER_STORY) },
  }),
  cancelOrder: operators.post('/api/admin/orders/{id}/cancel', 'Cancel an order that is not paid', {
    answers: { 200: json('The order, closed. Again: the same.', wholeOrderAnswer, WHOLE_ORDER) },
    problems: ['order_paid', 'not_placed'],
  }),
  refundOrder: operators.post('/api/admin/orders/{id}/refund', 'Refund a paid order', {
    more:
      'Without an amount, or with all that is left: the order is closed/refunded, and with "restock" its units are on sale again. With a ' +
      'smaller amount: that part goes back to the buyer, and the order stays paid; several parts are possible. Send an Idempotency-Key ' +
      'with a part: without one, asking again is another part.',
    takes: ['Idempotency-Key'],
    body: {
      schema: refundInput,
      example: { amount: { amount: 5000, currency: 'CNY' }, reason: 'a scratch on the case' },
    },
    answers: { 200: json('The order: paid after a part, else closed/refunded.', wholeOrderAnswer, WHOLE_ORDER) },
    problems: ['order_not_paid', 'not_placed', 'refund_invalid', 'idempotency_key_reused'],
  }),
  audit: viewers.get('/api/admin/sales/{sale}/audit', 'Units by state, gate and ledger side by side', {
    answers: { 200: json('One line per item.', auditsAnswer, { items: [AUDIT] }) },
  }),
  reconcile: operators.post('/api/admin/sales/{sale}/reconcile', 'Compare gate, ledger and payments, and repair', {
    answers: { 200: json('What differed, what was done.', reportAnswer, { differences: [], repairs: [] }) },
  }),
  reports: viewers.get('/api/admin/sales/{sale}/reports', 'Results of the sale, and the latest reconciliations', {
    answers: { 200: json('Results and reports.', reportsAnswer, { results: [], reports: [] }) },
  }),
  log: viewers.get('/api/admin/log', 'Who changed what, when', {
    query: pageQuery(100, 1000),
    answers: { 200: json('A page of the log, oldest first.', logAnswer, { log: [LOG_LINE], next: null }) },
  }),
  watch: viewers.get('/api/admin/sales/{sale}/watch', 'Everything about a running sale in one answer', {
    more: 'The audit, the state of each item in this process, the funnel, the last minutes in figures, and what is wrong.',
    query: watchQuery,
    answers: { 200: json('The sale at this moment.', watchAnswer, WATCH) },
  }),
  trouble: viewers.get('/api/admin/trouble', 'What is wrong, and since when', {
    answers: {
      200: json('Worst first; empty when all is well.', troublesAnswer, {
        trouble: [{ code: 'refunds_stuck', since: AT, count: 2 }],
      }),
    },
  }),
} satisfies Record<string, Call>
