/**
 * Reads a message of the channel. Its text is not trusted: it is checked field by field, within bounds, and becomes one of the known
 * shapes or nothing. By hand and not with a schema: every edge reads the message of every reservation.
 */

import { type BuyerId, isBuyerId, isId } from '../../domain/ids.ts'
import type { CloseReason, Order, OrderState } from '../../domain/order.ts'
import type { ChannelMessage } from '../channel.ts'
import type { Partition } from '../outbox.ts'
import { isShardId, itemOf } from '../shard-ids.ts'

export const ORDERS_PER_MESSAGE = 200
/** More than a batch at the gate may have. */
const BUYERS_MAX = 10_000
/** Ten thousand buyers with the longest names, or two hundred orders, fit. */
const TEXT_MAX = 4_000_000

const STATES: ReadonlySet<string> = new Set<OrderState>(['pending', 'paid', 'closed'])
const REASONS: ReadonlySet<string> = new Set<CloseReason>(['unpaid', 'cancelled', 'refused', 'refunded'])

type Fields = Readonly<Record<string, unknown>>

/** `unreadable`: dropped. `reservation`: it claims to be the gate's, so a buyer filter has missed one. */
export function readMessage(
  text: string,
): ChannelMessage | { readonly kind: 'unreadable'; readonly reservation: boolean } {
  const fields = text.length <= TEXT_MAX ? parse(text) : undefined
  const read = fields === undefined ? undefined : messageOf(fields)
  return read ?? { kind: 'unreadable', reservation: fields?.kind === 'reserved' || text.length > TEXT_MAX }
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

/** Fields that were undefined are missing in the text. */
function orderOf(value: unknown): Order | undefined {
  if (!isFields(value)) return undefined
  const { id, sale, item, buyer, attempt, quantity, price, state, reason, supersededBy, epoch, version } = value
  const { reservedAtMs, placedAtMs, payByMs, paidAtMs, closedAtMs } = value
  if (!isIdText(id) || !isIdText(sale) || !isIdText(item) || !isBuyerText(buyer)) return undefined
  if (!isCount(attempt) || !isCount(quantity) || !isCount(epoch) || !isCount(version)) return undefined
  if (!isFields(price) || !isCount(price.amount) || typeof price.currency !== 'string') return undefined
  if (!isOneOf<OrderState>(state, STATES) || !(reason === undefined || isOneOf<CloseReason>(reason, REASONS)))
    return undefined
  if (!(supersededBy === undefined || isIdText(supersededBy)) || !isTime(reservedAtMs) || !isTime(placedAtMs))
    return undefined
  if (!isTimeOrNone(payByMs) || !isTimeOrNone(paidAtMs) || !isTimeOrNone(closedAtMs)) return undefined
  return {
    id,
    sale,
    item,
    buyer,
    attempt,
    quantity,
    price: { amount: price.amount, currency: price.currency },
    state,
    reason,
    supersededBy,
    epoch,
    reservedAtMs,
    placedAtMs,
    payByMs,
    paidAtMs,
    closedAtMs,
    version,
  }
}

function parse(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
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

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** Unix ms; PostgreSQL's have fractions. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isTimeOrNone(value: unknown): value is number | undefined {
  return value === undefined || isTime(value)
}

function isOneOf<T extends string>(value: unknown, all: ReadonlySet<string>): value is T {
  return typeof value === 'string' && all.has(value)
}
