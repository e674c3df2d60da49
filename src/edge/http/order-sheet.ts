/**
 * Orders as a sheet for people: item and SKU by name, amounts in major units, times in a stated zone, headings in words. A spreadsheet keeps ids, SKUs
 * and phone numbers as they are written: each is a formula that says nothing but its own text, because a bare number of 19 digits would be rounded
 * and an SKU like 1-3 become a date. Nothing that comes from outside is run as a formula. With a byte order mark, so that Excel reads it as UTF-8.
 */

import type { ItemId } from '../../domain/ids.ts'
import { toDecimal } from '../../domain/money.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { ContactField, Parcel } from '../../domain/parcel.ts'
import type { Sale } from '../../domain/sale.ts'
import { csvField } from './csv.ts'

interface SheetOptions {
  readonly sale: Sale
  readonly zone: string
  /** Writes a moment as the zone's clocks show it. */
  readonly timeOf: (unixMs: number) => string
  readonly language: 'en' | 'zh'
}

const HEADINGS = {
  en: {
    columns: ['Order', 'State', 'Item', 'SKU', 'Quantity', 'Price', 'Amount', 'Currency', 'Buyer'],
    times: ['Reserved', 'Placed', 'Pay by', 'Paid', 'Closed'],
    contact: { email: 'E-mail', phone: 'Phone', name: 'Name', address: 'Address' },
    ids: ['Item id', 'Sale id'],
    states: {
      ...{ reserved: 'reserved', pending: 'to pay', paid: 'paid', unpaid: 'closed: not paid in time' },
      ...{ cancelled: 'closed: cancelled', refused: 'closed: refused', refunded: 'closed: refunded', closed: 'closed' },
    },
  },
  zh: {
    columns: ['订单', '状态', '商品', '货号', '数量', '单价', '金额', '货币', '买家'],
    times: ['预留时间', '下单时间', '付款截止', '付款时间', '关闭时间'],
    contact: { email: '电子邮箱', phone: '电话', name: '姓名', address: '地址' },
    ids: ['商品编号', '活动编号'],
    states: {
      ...{ reserved: '已预留', pending: '待付款', paid: '已付款', unpaid: '已关闭：超时未付款' },
      ...{ cancelled: '已关闭：已取消', refused: '已关闭：被拒绝', refunded: '已关闭：已退款', closed: '已关闭' },
    },
  },
} as const

/** Longer texts can't stand in a formula. */
const FORMULA_TEXT_MAX = 250
const BYTE_ORDER_MARK = '\ufeff'

export function createOrderSheet({ sale, zone, timeOf, language }: SheetOptions) {
  const words = HEADINGS[language]
  const items = new Map<ItemId, Sale['items'][number]>(sale.items.map(item => [item.id, item]))
  const asked = sale.contactFields ?? []
  const at = (ms: number | undefined) => (ms === undefined ? '' : timeOf(ms))

  return {
    asksForContact: asked.length > 0,
    head:
      BYTE_ORDER_MARK +
      [
        ...words.columns,
        ...words.times.map(time => `${time} (${zone})`),
        ...asked.map(field => words.contact[field]),
        ...words.ids,
      ]
        .map(csvField)
        .join(','),
    lineOf(order: Order | Reservation, parcel: Parcel | undefined): string {
      const item = items.get(order.item)
      const { amount, currency } = order.price
      const placed = order.state === 'reserved' ? undefined : order
      const state = words.states[placed?.reason ?? order.state]
      return [
        exact(order.id),
        csvField(state),
        csvField(item?.name ?? ''),
        exact(item?.sku ?? ''),
        `${order.quantity}`,
        toDecimal(order.price),
        toDecimal({ amount: amount * order.quantity, currency }),
        currency,
        exact(order.buyer),
        ...[order.reservedAtMs, placed?.placedAtMs, placed?.payByMs, placed?.paidAtMs, placed?.closedAtMs].map(at),
        ...asked.map(field => contactCell(field, parcel?.contact?.[field] ?? '')),
        exact(order.item),
        exact(order.sale),
      ].join(',')
    },
  }
}

function contactCell(field: ContactField, text: string): string {
  return field === 'phone' ? exact(text) : csvField(text)
}

/** A text that no spreadsheet changes. */
function exact(text: string): string {
  if (text === '') return ''
  if (text.length > FORMULA_TEXT_MAX || /\p{Cc}/u.test(text)) return csvField(text)
  return quoted(`=${quoted(text)}`)
}

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
