/** The types of events as they are on the wire. Free of zod: the pages import it. */

import type { EventType } from '../../domain/shop-event.ts'
import { CLOUD_TYPE_PREFIX } from '../events/cloud-event.ts'

/** Complete: the compiler asks for every type. */
const TYPES: Readonly<Record<EventType, true>> = {
  'order.placed': true,
  'order.paid': true,
  'order.closed': true,
  'order.refunded': true,
  'order.closing_soon': true,
  'payment.refund_due': true,
  'item.sold_out': true,
  'item.back': true,
  'sale.opened': true,
  'sale.over': true,
}

export const EVENT_NAMES: readonly string[] = Object.keys(TYPES).map(type => `${CLOUD_TYPE_PREFIX}${type}`)
