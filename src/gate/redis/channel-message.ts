/**
 * Reads a message of the channel. Its text is not trusted: it is checked field by field, within bounds, and becomes one of the known
 * shapes or nothing. By hand and not with a schema: every edge reads the message of every reservation.
 */

import { type BuyerId, isBuyerId, isId } from '../../domain/ids.ts'
import type { CloseReason, Order, OrderState } from '../../domain/order.ts'
import { SHOWN_PAYMENT_STATES } from '../../domain/payment.ts'
import { isCount } from '../arguments.ts'
import type { ChannelMessage } from '../channel.ts'
import type { Partition } from '../outbox.ts'
import { isShardId, itemOf } from '../shard-ids.ts'
import { jsonIn } from './replies.ts'

export const ORDERS_PER_MESSAGE = 200
/** More than a batch at the gate may have. */
const BUYERS_MAX = 10_000
/** Ten thousand buyers with the longest names, or two hundred orders, fit. */
const TEXT_MAX = 4_000_000

const STATES: ReadonlySet<unknown> = new Set<OrderState>(['pending', 'paid', 'closed'])
const REASONS: ReadonlySet<unknown> = new Set<CloseReason>(['unpaid', 'cancelled', 'refused', 'refunded'])

const SHOWN: ReadonlySet<unknown> = new Set(SHOWN_PAYMENT_STATES)

type Fields = Readonly<Record<string, unknown>>

/** `unreadable`: dropped. `reservation`: it claims to be the gate's, so a buyer filter has missed one. */
export function readMessage(
  text: string,
): ChannelMessage | { readonly kind: 'unreadable'; readonly reservation: boolean } {
  if (text.length > TEXT_MAX) return { kind: 'unreadable', reservation: true }
  const value = jsonIn(text)
  const fields = isFields(value) ? value : {}
  return messageOf(fields) ?? { kind: 'unreadable', reservation: fields.kind === 'reserved' }
}

function messageOf(fields: Fields): ChannelMessage | undefined {
  switch (fields.kind) {
    case 'reserved': {
      const { item: partition, epoch, version, left, buyers } = fields
      if (!isPartition(partition) || !isCount(epoch) || !isCount(version) || !isCount(left)) return undefined
      if (!Array.isArray(buyers) || buyers.length > BUYERS_MAX || !buyers.every(isBuyerText)) return undefined
      const item = itemOf(partition)
      return { kind: 'reserved', item, partition, epoch, version, left, buyers: buyers as readonly BuyerId[] }
    }
    case 'orders': {
      const { orders } = fields
      if (!Array.isArray(orders) || orders.length > ORDERS_PER_MESSAGE) return undefined
      const read = orders.map(orderOf)
      return read.every(order => order !== undefined) ? { kind: 'orders', orders: read } : undefined
    }
    case 'sale':
      return isIdText(fields.sale) ? { kind: 'sale', sale: fields.sale } : undefined
    default:
      return undefined
  }
}

/** What each field of an order must be. Those that were undefined are missing in the text. */
const ORDER_CHECKS: Readonly<Record<keyof Order, (value: unknown) => boolean>> = {
  id: isIdText,
  sale: isIdText,
  item: isIdText,
  buyer: isBuyerText,
  attempt: isCount,
  quantity: isCount,
  price: value => isFields(value) && isCount(value.amount) && typeof value.currency === 'string',
  state: value => STATES.has(value),
  reason: value => value === undefined || REASONS.has(value),
  supersededBy: value => value === undefined || isIdText(value),
  epoch: isCount,
  reservedAtMs: isTime,
  placedAtMs: isTime,
  payByMs: isTimeOrNone,
  paidAtMs: isTimeOrNone,
  closedAtMs: isTimeOrNone,
  version: isCount,
  payment: value => value === undefined || isOrderPayment(value),
}
const ORDER_FIELDS = Object.entries(ORDER_CHECKS)

function orderOf(value: unknown): Order | undefined {
  if (!isFields(value)) return undefined
  const order: Record<string, unknown> = {}
  for (const [field, isRight] of ORDER_FIELDS) {
    if (!isRight(value[field])) return undefined
    order[field] = value[field]
  }
  return order as unknown as Order
}

function isOrderPayment(value: unknown): boolean {
  if (!isFields(value)) return false
  const isTextOrNone = (text: unknown) => text === undefined || typeof text === 'string'
  const { provider, method, state, qr, no } = value
  return typeof provider === 'string' && isTextOrNone(method) && SHOWN.has(state) && isTextOrNone(qr) && isCount(no)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isIdText(value: unknown): value is string {
  return typeof value === 'string' && isId(value)
}

function isPartition(value: unknown): value is Partition {
  return typeof value === 'string' && isShardId(value)
}

function isBuyerText(value: unknown): value is BuyerId {
  return typeof value === 'string' && isBuyerId(value)
}

/** Unix ms; PostgreSQL's have fractions. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isTimeOrNone(value: unknown): value is number | undefined {
  return value === undefined || isTime(value)
}
