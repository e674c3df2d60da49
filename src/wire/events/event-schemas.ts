/** What each type of event looks like, as a schema. `docs/events/` is made from them, and the tests hold real events against them. */

import { z } from 'zod'
import type { EventType } from '../../domain/shop-event.ts'
import { moneyAnswer, orderAnswer, plainId, plainTime } from '../answers.ts'
import { CLOUD_TYPE_PREFIX } from './cloud-event.ts'

const sku = z.string().optional()
const money = z.strictObject(moneyAnswer.shape)

const orderData = (state: 'pending' | 'paid' | 'closed') =>
  z.strictObject({
    ...orderAnswer.omit({ payment: true }).shape,
    id: plainId,
    sale: plainId,
    item: plainId,
    sku,
    amount: money,
    state: z.literal(state),
    supersededBy: plainId.optional(),
    reservedAt: plainTime,
    placedAt: plainTime,
    payBy: plainTime.optional(),
    paidAt: plainTime.optional(),
    closedAt: plainTime.optional(),
  })

const pendingData = orderData('pending')
  .omit({ reason: true, supersededBy: true, paidAt: true, closedAt: true })
  .required({ payBy: true })
const paidData = orderData('paid').omit({ reason: true, supersededBy: true, closedAt: true }).required({ paidAt: true })
const closedData = orderData('closed').required({ reason: true, closedAt: true })
const itemData = z.strictObject({ id: plainId, sale: plainId, sku })
const saleData = z.strictObject({ id: plainId, name: z.string(), opensAt: plainTime, closesAt: plainTime })
const result = z.looseObject({ item: plainId, orders: z.int().min(0), unitsPaid: z.int().min(0), revenue: money })

const paymentData = z.strictObject({
  id: plainId,
  order: plainId,
  sale: plainId,
  item: plainId,
  provider: z.string(),
  ref: z.string(),
  amount: money,
  state: z.literal('refund_due'),
  why: z
    .string()
    .describe('late: the order was closed; second: another payment was first; operator: the order was refunded.')
    .optional(),
  part: plainId
    .describe(
      'Only `amount` of the payment goes back, and the order stays paid: the id of this part, and its idempotency key.',
    )
    .optional(),
})

interface Described {
  readonly means: string
  readonly data: z.ZodType
}

const DESCRIBED: Readonly<Record<EventType, Described>> = {
  'order.placed': { means: 'An order is placed: its units are held until `payBy`.', data: pendingData },
  'order.paid': { means: 'An order is paid.', data: paidData },
  'order.closed': {
    means:
      'An order is closed: not paid in time (unpaid), cancelled, or refused: a reservation that could not be placed. Its units are on sale again.',
    data: closedData.extend({ reason: z.enum(['unpaid', 'cancelled', 'refused']) }).omit({ paidAt: true }),
  },
  'order.refunded': {
    means: 'A paid order was taken back by an operator. The money follows: see payment.refund_due.',
    data: closedData.extend({ reason: z.literal('refunded') }),
  },
  'order.closing_soon': {
    means: 'An order is not paid, and its time to pay ends soon. Once for each order; it may cross with order.paid.',
    data: pendingData,
  },
  'payment.refund_due': { means: 'Money has to go back to a buyer.', data: paymentData },
  'item.sold_out': { means: 'No unit of the item is left in the ledger.', data: itemData },
  'item.back': { means: 'An item that was sold out has units again, and its sale is not over.', data: itemData },
  'sale.opened': { means: 'The window of a sale has begun.', data: saleData },
  'sale.over': {
    means: 'A sale is over and settled, with the results of each item.',
    data: saleData.extend({ results: z.array(result) }),
  },
}

export const EVENT_TYPES = Object.keys(DESCRIBED) as readonly EventType[]

/** The whole event of a type. */
export function schemaOf(type: EventType) {
  const { means, data } = DESCRIBED[type]
  return z
    .object({
      specversion: z.literal('1.0'),
      id: plainId.describe('The number of the event. Numbers are consecutive.'),
      source: z.string().min(1).describe('The installation: PUBLIC_URL, or stampede.'),
      type: z.literal(`${CLOUD_TYPE_PREFIX}${type}`),
      subject: plainId.describe('The id of the order, payment, item or sale.'),
      time: plainTime,
      datacontenttype: z.literal('application/json'),
      data,
    })
    .describe(means)
}
