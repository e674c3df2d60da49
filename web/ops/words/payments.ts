/** Every text about money over all sales, and about refunds in parts, in both languages. */

import { words } from '../words.ts'

const en = {
  title: 'Payments',
  providers: 'Payment providers',
  noProviders: 'No provider is configured.',
  silent: 'does not answer',
  answers: 'answers',
  calls: 'Calls: ok / refused / no answer',
  times: 'Answer time: median / slowest',
  milliseconds: (p50: string, p99: string) => `${p50} / ${p99} ms`,
  lastSuccess: 'Last success',
  callbacks: 'Callbacks',
  forged: (count: string) => `${count} forged`,
  open: 'Open payments',
  refunds: 'Refunds due / stuck',
  since: (when: string) => `Over all processes, since ${when} or later.`,
  kinds: { start: 'start', query: 'query', cancel: 'cancel', refund: 'refund' },
  never: 'never',
  report: 'Captured, refunded and kept',
  reportNote:
    'Per provider, currency and day. Days are UTC. A refund counts on the day on which the provider confirmed it.',
  from: 'From',
  to: 'To, included',
  show: 'Show',
  csv: 'As CSV',
  csvName: (from: string, to: string) => `payments-${from}-${to}.csv`,
  nothing: 'No money was captured or refunded on these days.',
  day: 'Day (UTC)',
  captured: 'Captured',
  refunded: 'Refunded',
  kept: 'Kept',
  times2: 'Captures / refunds',
  amountOf: (currency: string) => `Amount in ${currency}`,
  amountHint: (left: string) =>
    `Empty: all of ${left}, and the order is closed. Less: that part goes back, and the order stays paid.`,
  badAmount: (currency: string, example: string) => `This is not an amount of ${currency}. Write it like ${example}.`,
  partDone: (amount: string, id: string) => `${amount} of order ${id} goes back to the buyer.`,
  reason: 'Reason, for the log and the order’s history',
  part: 'part of it',
}

type PaymentWords = typeof en

const zh: PaymentWords = {
  title: '资金',
  providers: '支付渠道',
  noProviders: '没有配置支付渠道。',
  silent: '没有应答',
  answers: '应答正常',
  calls: '调用：成功 / 被拒 / 无应答',
  times: '应答时间：中位 / 最慢',
  milliseconds: (p50, p99) => `${p50} / ${p99} 毫秒`,
  lastSuccess: '最近一次成功',
  callbacks: '回调',
  forged: count => `${count} 次伪造`,
  open: '未了结的支付',
  refunds: '退款：待确认 / 受阻',
  since: when => `所有进程合计，自 ${when} 或更晚起。`,
  kinds: { start: '发起', query: '查询', cancel: '取消', refund: '退款' },
  never: '从未',
  report: '收款、退款与留存',
  reportNote: '按渠道、币种和日期统计，日期为 UTC。退款计入渠道确认的那一天。',
  from: '从',
  to: '到（含）',
  show: '查看',
  csv: '下载 CSV',
  csvName: (from, to) => `payments-${from}-${to}.csv`,
  nothing: '这些日期没有收款或退款。',
  day: '日期（UTC）',
  captured: '收款',
  refunded: '退款',
  kept: '留存',
  times2: '收款 / 退款笔数',
  amountOf: currency => `金额（${currency}）`,
  amountHint: left => `留空：退还全部 ${left}，订单随之关闭。填写较小金额：只退这部分，订单仍为已付款。`,
  badAmount: (currency, example) => `这不是有效的 ${currency} 金额，请按 ${example} 的格式填写。`,
  partDone: (amount, id) => `订单 ${id} 的 ${amount} 将退还买家。`,
  reason: '原因，写入日志和订单记录',
  part: '部分退款',
}

export function paymentWords(): PaymentWords {
  return words().locale === 'en' ? en : zh
}
