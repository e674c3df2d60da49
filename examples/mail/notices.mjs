/**
 * What a buyer is told about an event, in two languages: a subject and a plain text. Undefined where there is nothing to say: another
 * type, or a notice that came too late to be true (an order that can't be paid any more is not asked to be paid).
 */

const TEXTS = {
  en: {
    locale: 'en-GB',
    placed: o => [`Order ${o.id}: please pay until ${o.payBy}`, `We keep ${o.what} for you until ${o.payBy}.`],
    closing_soon: o => [`Order ${o.id}: your time to pay ends soon`, `At ${o.payBy} ${o.what} goes on sale again.`],
    paid: o => [`Order ${o.id} is paid`, `Thank you. ${o.what} is yours.`],
    refunded: o => [`Order ${o.id} is refunded`, `${o.amount} is on its way back to you.`],
    unpaid: o => [`Order ${o.id} has ended`, `It was not paid in time. You owe nothing.`],
    cancelled: o => [`Order ${o.id} is cancelled`, `You owe nothing.`],
    refused: o => [`Order ${o.id} could not be placed`, `We are sorry: no unit was left for it. You owe nothing.`],
    what: (quantity, name, amount) => `${quantity} × ${name} (${amount})`,
    item: 'your item',
    page: 'Your order',
  },
  zh: {
    locale: 'zh-CN',
    placed: o => [`订单 ${o.id}：请在 ${o.payBy} 前付款`, `${o.what} 已为您保留至 ${o.payBy}。`],
    closing_soon: o => [`订单 ${o.id}：付款时间即将结束`, `${o.payBy} 后，${o.what} 将重新开售。`],
    paid: o => [`订单 ${o.id} 已付款`, `感谢购买，${o.what} 归您了。`],
    refunded: o => [`订单 ${o.id} 已退款`, `${o.amount} 正在退回您的账户。`],
    unpaid: o => [`订单 ${o.id} 已关闭`, `未在规定时间内付款，您无需支付任何费用。`],
    cancelled: o => [`订单 ${o.id} 已取消`, `您无需支付任何费用。`],
    refused: o => [`订单 ${o.id} 未能成立`, `很抱歉，商品已售完。您无需支付任何费用。`],
    what: (quantity, name, amount) => `${name} × ${quantity}（${amount}）`,
    item: '您的商品',
    page: '查看订单',
  },
}

export const TYPES = ['placed', 'paid', 'closing_soon', 'closed', 'refunded'].map(type => `stampede.order.${type}`)

/** @returns {{ subject: string, text: string } | undefined} */
export function noticeOf(event, { language, page, timeZone, nowMs }) {
  if (!TYPES.includes(event.type)) return undefined
  const kind = event.type.slice('stampede.order.'.length)
  const order = event.data
  const asksForMoney = kind === 'placed' || kind === 'closing_soon'
  if (asksForMoney && Date.parse(order.payBy) <= nowMs) return undefined
  // A duplicate that lost against the buyer's own order: there is nothing that the buyer has lost.
  if (kind === 'closed' && order.supersededBy !== undefined) return undefined

  const texts = TEXTS[language] ?? TEXTS.en
  const write = texts[kind === 'closed' ? order.reason : kind]
  if (write === undefined) return undefined
  const amount = money(order.amount, texts.locale)
  const what = texts.what(order.quantity, order.sku ?? texts.item, amount)
  const payBy = asksForMoney ? time(order.payBy, texts.locale, timeZone) : ''
  const [subject, text] = write({ id: order.id, what, amount, payBy })
  return { subject, text: `${text}\n\n${texts.page}: ${page}\n` }
}

/** Amounts are integers of the currency's smallest unit. */
function money({ amount, currency }, locale) {
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency })
  return format.format(amount / 10 ** format.resolvedOptions().maximumFractionDigits)
}

function time(text, locale, timeZone) {
  const parts = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' }
  return new Intl.DateTimeFormat(locale, { ...parts, timeZone }).format(new Date(text))
}
