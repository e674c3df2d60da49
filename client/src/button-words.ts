/** Every text of the button, in English and Chinese. */

import type { ButtonState } from '../../web/buyer/buy/button-state.ts'

type Kind = ButtonState['kind']

export interface Words {
  readonly label: Readonly<Record<Kind, string>>
  readonly note: Readonly<Partial<Record<Kind, string>>>
  /** Why the last press was refused, by its code. */
  readonly refused: Readonly<Record<string, string>>
  readonly pay: string
  readonly scan: string
  readonly quantity: string
  readonly fewer: string
  readonly more: string
  readonly left: (left: string) => string
  readonly leftToPay: (time: string) => string
  /** In line. */
  readonly ahead: (ahead: number) => string
  readonly drawing: (number: number) => string
  readonly estimate: (fromMinutes: number, toMinutes: number) => string
  readonly soldOutInLine: string
  readonly leftToClaim: (time: string) => string
}

const en: Words = {
  label: {
    loading: 'Loading…',
    away: 'We’ll be right back',
    before: 'Not open yet',
    opening: 'Get ready…',
    live: 'Buy now',
    sending: 'Asking…',
    reserved: 'Reserved for you…',
    placed: 'Pay now',
    paid: 'Paid',
    sold_out: 'Sold out',
    over: 'The sale is over',
    paused: 'Paused',
    limited: 'One moment…',
    cooling: 'One moment…',
    offline: 'You are offline',
    signed_out: 'Sign in to buy',
    attempts_used: 'No more attempts',
    line_before: 'The line is not open yet',
    join: 'Join the line',
    in_line: 'In line',
    missed: 'Join again',
  },
  note: {
    sending: 'You do not need to press again.',
    placed: 'It is yours. Pay in time to keep it.',
    paid: 'Thank you. Your order is paid.',
    away: 'The shop can’t be reached right now. This page goes on by itself.',
    sold_out: 'Units may return when orders are not paid in time.',
    paused: 'The shop has paused this sale.',
    attempts_used: 'You have used all your attempts for this item.',
    join: 'You may buy when it is your turn.',
    missed: 'Your turn is over. You can join again at the end of the line.',
  },
  refused: {
    sold_out: 'It was sold out a moment before.',
    not_enough: 'Fewer are left than you asked for.',
    denied: 'The shop does not let you buy here.',
    hold_limit: 'You hold as many unpaid units as the shop allows. Pay or cancel one first.',
    not_solved: 'The check before the sale could not be done in this browser.',
    not_admitted: 'It is not your turn yet.',
    claim_required: 'The shop must verify you before you can join this line.',
    claim_used: 'You have joined this line with another account. Use that one.',
    order_closed: 'The time to pay is over.',
    no_payment_provider: 'The shop can’t take payments right now.',
    other: 'That did not work. Please try again.',
  },
  pay: 'Pay',
  scan: 'Scan this code with your phone to pay:',
  quantity: 'Quantity',
  fewer: 'Fewer',
  more: 'More',
  left: left => `${left} left`,
  leftToPay: time => `${time} left to pay`,
  ahead: ahead => (ahead === 0 ? 'You are next.' : `${ahead} ahead of you.`),
  drawing: number => `Your number is ${number}. Places are drawn before the sale opens.`,
  estimate: (from, to) =>
    to <= 1 ? 'About a minute.' : from < 1 ? `Up to ${to} minutes.` : `${from} to ${to} minutes.`,
  soldOutInLine: 'Sold out for now. You keep your place.',
  leftToClaim: time => `It is your turn: ${time} left to buy`,
}

const zh: Words = {
  label: {
    loading: '加载中…',
    away: '马上回来',
    before: '尚未开始',
    opening: '即将开始…',
    live: '立即抢购',
    sending: '提交中…',
    reserved: '已为您预留…',
    placed: '去支付',
    paid: '已支付',
    sold_out: '已售罄',
    over: '活动已结束',
    paused: '活动暂停',
    limited: '请稍候…',
    cooling: '请稍候…',
    offline: '网络已断开',
    signed_out: '登录后购买',
    attempts_used: '次数已用完',
    line_before: '排队尚未开始',
    join: '加入排队',
    in_line: '排队中',
    missed: '重新排队',
  },
  note: {
    sending: '无需重复点击。',
    placed: '已抢到，请按时支付。',
    paid: '谢谢，订单已支付。',
    away: '暂时无法连接商店，恢复后会自动继续。',
    sold_out: '未按时支付的商品可能会重新放出。',
    paused: '商家已暂停本次活动。',
    attempts_used: '您对该商品的抢购次数已用完。',
    join: '轮到您时即可购买。',
    missed: '您已错过本次机会，可重新排到队尾。',
  },
  refused: {
    sold_out: '刚刚被抢完了。',
    not_enough: '剩余数量少于您所选的数量。',
    denied: '商家不允许您在此购买。',
    hold_limit: '您未支付的商品已达上限，请先支付或取消。',
    not_solved: '此浏览器无法完成购买前的验证。',
    not_admitted: '还没有轮到您。',
    claim_required: '加入排队前，请先在商店完成验证。',
    claim_used: '您已用另一个账号排队，请使用那个账号。',
    order_closed: '支付时间已过。',
    no_payment_provider: '商家暂时无法收款。',
    other: '未能成功，请重试。',
  },
  pay: '支付',
  scan: '请用手机扫描此码支付：',
  quantity: '数量',
  fewer: '减少',
  more: '增加',
  left: left => `剩余 ${left}`,
  leftToPay: time => `支付剩余 ${time}`,
  ahead: ahead => (ahead === 0 ? '下一位就是您。' : `前面还有 ${ahead} 人。`),
  drawing: number => `您的号码是 ${number}，开抢前抽签排序。`,
  estimate: (from, to) => (to <= 1 ? '约一分钟。' : from < 1 ? `最多 ${to} 分钟。` : `约 ${from} 至 ${to} 分钟。`),
  soldOutInLine: '暂时售罄，您的位置会保留。',
  leftToClaim: time => `轮到您了，请在 ${time} 内购买`,
}

export function wordsFor(language: string): Words {
  return language.toLowerCase().startsWith('zh') ? zh : en
}
