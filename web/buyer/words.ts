/** Every text of the buyer page, in English and Chinese. The browser's language is the default; a choice made on the page is kept. */

import type { Item } from './shapes.ts'
import { store } from './store.ts'

const en = {
  locale: 'en',
  other: '中文',
  otherLabel: '切换到中文',
  skip: 'Skip to content',
  sales: 'Sales',
  myOrders: 'My orders',
  mainMenu: 'Main',
  loading: 'Loading…',
  offlineBanner: 'You are offline. The page continues when you are back online.',
  unreachableBanner: 'The shop can’t be reached right now. Trying again…',

  nowSelling: 'On sale now',
  comingUp: 'Coming up',
  pastSales: 'Past sales',
  nothingOn: 'Nothing is on sale right now',
  nothingOnNote: 'New sales appear here.',
  notFound: 'Page not found',
  notFoundNote: 'The address may be wrong, or the page no longer exists.',
  toSales: 'See all sales',

  closesIn: 'Closes in',
  opensAt: (time: string) => `Opens ${time}`,
  endedAt: (time: string) => `Ended ${time}`,
  days: (count: number): string => (count === 1 ? 'day' : 'days'),
  hours: (count: number): string => (count === 1 ? 'hour' : 'hours'),
  minutes: 'min',
  seconds: 'sec',
  leftUntilOpening: (time: string) => `${time} until the sale opens`,
  leftUntilClosing: (time: string) => `${time} until the sale closes`,
  leftToPay: (time: string) => `${time} left to pay`,
  price: 'Price',
  listPrice: 'Regular price',
  off: (percent: number) => `${percent}% off`,
  unitsLeft: (left: string, units: string) => `${left} of ${units} left`,
  fewLeft: (left: string) => `Only ${left} left`,
  unitsTotal: (units: string, count: number) => (count === 1 ? '1 unit' : `${units} units`),
  noneLeft: 'All units are taken',
  stock: 'Units left',
  quantity: 'Quantity',
  fewer: 'One less',
  more: 'One more',
  ticketReady: 'You’re ready: you have your ticket',
  check: 'Are you a person?',
  checkNote: 'This sale asks for a short check before it opens the button for you.',

  away: 'We’ll be right back',
  awayNote: 'The shop can’t be reached right now. Keep this page open: it continues by itself.',
  before: 'Not open yet',
  beforeNote: 'Keep this page open. The button unlocks at zero, by the shop’s clock.',
  opening: 'Get ready…',
  openingNote: 'The sale opens in a few seconds.',
  live: 'Buy now',
  liveNote: (minutes: string) => `Press once. After that you have ${minutes} to pay.`,
  sending: 'Sending…',
  sendingNote: 'Please wait. No need to press again.',
  sendingAgainNote: 'No answer yet, so we are asking again. You can’t get two orders.',
  sendingOfflineNote: 'You are offline. We ask again as soon as you are back; you can’t get two orders.',
  reserved: 'Reserved for you',
  reservedNote: 'Your order is being placed. This takes a moment.',
  soldOut: 'Sold out',
  soldOutNote: 'Units may return when orders are not paid in time. Keep this page open: the button unlocks by itself.',
  allPaidNote: 'Every unit is paid for.',
  over: 'This sale is over',
  overNote: 'Thank you for coming. Your orders are under “My orders”.',
  paused: 'Paused',
  pausedNote: 'The shop has paused this sale. The button unlocks when the sale resumes.',
  pausedBeforeNote: 'The shop has paused this sale. If it resumes in time, it opens as planned.',
  limited: (seconds: string) => `Try again in ${seconds} s`,
  limitedNote: 'Too many requests in a short time. You can press again in a moment.',
  offline: 'You are offline',
  offlineNote: 'The button unlocks when you are back online.',
  signedOut: 'Sign in to buy',
  signedOutNote: 'You are not signed in. Sign in on the shop’s page, then come back to this tab.',
  signIn: 'Sign in',
  signInNote: 'You are not signed in. The shop signs you in and brings you back here.',
  attemptsUsed: 'No more attempts',
  attemptsUsedNote: 'You have used all your attempts for this item.',
  cooling: (seconds: string) => `One moment… ${seconds}`,
  coolingNotes: {
    sold_out: 'It was sold out, but a unit has just returned.',
    not_enough: 'Fewer are left than you asked for. The quantity was lowered.',
    sale_paused: 'The sale has resumed. You can press again in a moment.',
    hold_limit: 'Your account or network holds too many unpaid orders. Pay what is open, or try again in a minute.',
    challenge_required: 'This browser can’t do the check that this sale asks for. Use a current browser over HTTPS.',
    challenge_invalid: 'The check took too long. Press again.',
    not_admitted: 'This sale has a waiting line. The button works when it is your turn.',
    denied:
      'The shop does not let you take part in this sale. Please ask the shop; an order that you hold stays yours.',
    other: 'That did not work. You can press again in a moment.',
  } as Record<string, string>,

  yours: 'It’s yours',
  yoursNote: 'Pay in time to keep it.',
  payNow: 'Pay now',
  openingPay: 'Opening the pay page…',
  payFailed: 'The pay page could not be opened. Try again.',
  payUsed: 'You have started too many payments for this order. Cancel it to order again.',
  payUnavailable: 'This shop has not set up payments here. Please ask the shop.',
  checkingPay: 'Checking whether your payment has arrived…',
  notPaid: 'No payment has arrived. If you did not finish it, pay again.',
  payLeft: 'Time left to pay',
  payDue: 'The time to pay is up. The order is being closed…',
  cancel: 'Cancel order',
  cancelAsk: (quantity: number) => `Cancel this order? The ${quantity === 1 ? 'unit goes' : 'units go'} back on sale.`,
  cancelYes: 'Yes, cancel it',
  cancelNo: 'Keep it',
  cancelling: 'Cancelling…',
  cancelFailed: 'The order could not be cancelled. Try again.',
  paid: 'Paid',
  paidNote: 'Thank you. Your order is complete.',
  seeOrder: 'See the order',
  order: 'Order',
  orderNumber: 'Order number',
  amount: 'Amount',
  ordered: 'Ordered',
  paidOn: 'Paid on',
  closedOn: 'Closed on',
  noOrders: 'You have no orders yet',
  noOrdersNote: 'Orders you place in a sale are listed here.',
  olderOrders: 'Show older orders',
  backToSale: 'Back to the sale',
  backToOrders: 'All orders',
  unknownItem: 'Item',
  states: { reserved: 'Being placed', pending: 'To be paid', paid: 'Paid', closed: 'Closed' },
  reasons: {
    unpaid: 'Not paid in time',
    cancelled: 'Cancelled',
    refused: 'Could not be placed',
    refunded: 'Refunded',
  } as Record<string, string>,
  reasonNotes: {
    unpaid: quantity => `The time to pay ran out, so the ${quantity === 1 ? 'unit' : 'units'} went back on sale.`,
    cancelled: quantity => `This order was cancelled. The ${quantity === 1 ? 'unit' : 'units'} went back on sale.`,
    refused: () => 'This order could not be placed. You have not been charged.',
    refunded: () => 'The money is on its way back to you.',
  } as Record<string, (quantity: number) => string>,
  closedBefore: (reason: string) => `Your last order: ${reason.toLowerCase()}.`,

  saidOpen: 'The sale is open. You can buy now.',
  saidSoon: (time: string) => `${time} until the sale opens.`,
  saidBack: 'A unit has returned to stock. You can buy now.',
  saidPlaced: 'It’s yours. Your order is placed.',
}

type Words = typeof en
type Language = 'en' | 'zh'

const zh: Words = {
  locale: 'zh-CN',
  other: 'English',
  otherLabel: 'Switch to English',
  skip: '跳到正文',
  sales: '抢购',
  myOrders: '我的订单',
  mainMenu: '主菜单',
  loading: '加载中…',
  offlineBanner: '网络已断开。恢复后页面会自动继续。',
  unreachableBanner: '暂时连接不上商店，正在重试…',

  nowSelling: '正在抢购',
  comingUp: '即将开始',
  pastSales: '往期',
  nothingOn: '目前没有抢购',
  nothingOnNote: '新的场次会自动出现在这里。',
  notFound: '页面不存在',
  notFoundNote: '地址可能有误，或者内容已不存在。',
  toSales: '查看全部场次',

  closesIn: '距结束',
  opensAt: time => `${time} 开抢`,
  endedAt: time => `${time} 已结束`,
  days: () => '天',
  hours: () => '时',
  minutes: '分',
  seconds: '秒',
  leftUntilOpening: time => `距开抢还有 ${time}`,
  leftUntilClosing: time => `距结束还有 ${time}`,
  leftToPay: time => `支付剩余时间 ${time}`,
  price: '抢购价',
  listPrice: '原价',
  off: percent => `立减 ${percent}%`,
  unitsLeft: (left, units) => `剩余 ${left} / ${units} 件`,
  fewLeft: left => `仅剩 ${left} 件`,
  unitsTotal: units => `共 ${units} 件`,
  noneLeft: '已被抢光',
  stock: '剩余件数',
  quantity: '数量',
  fewer: '减少一件',
  more: '增加一件',
  ticketReady: '已准备就绪：抢购资格已领取',
  check: '人机验证',
  checkNote: '本场抢购需要先完成一次简短验证。',

  away: '马上回来',
  awayNote: '暂时连接不上商店。请保持页面打开，恢复后会自动继续。',
  before: '尚未开始',
  beforeNote: '请保持页面打开。倒计时结束时按钮自动可用，以商店时间为准。',
  opening: '即将开抢…',
  openingNote: '几秒钟后开抢。',
  live: '立即抢购',
  liveNote: minutes => `只需按一次。下单后请在 ${minutes}内支付。`,
  sending: '正在提交…',
  sendingNote: '请稍候，无需重复点击。',
  sendingAgainNote: '还没有收到回复，正在再次确认。不会产生两笔订单。',
  sendingOfflineNote: '网络已断开。恢复后会立即再次确认，不会产生两笔订单。',
  reserved: '已为您预留',
  reservedNote: '正在生成订单，请稍候。',
  soldOut: '已抢光',
  soldOutNote: '如有订单超时未支付，商品会重新放出。请保持页面打开，按钮会自动恢复可用。',
  allPaidNote: '所有商品均已付款售出。',
  over: '本场已结束',
  overNote: '感谢参与。您的订单在“我的订单”中。',
  paused: '已暂停',
  pausedNote: '商家暂停了本场抢购。恢复后按钮会自动可用。',
  pausedBeforeNote: '商家暂停了本场抢购。如及时恢复，仍按原定时间开抢。',
  limited: seconds => `${seconds} 秒后再试`,
  limitedNote: '操作过于频繁，请稍候再按。',
  offline: '网络已断开',
  offlineNote: '网络恢复后按钮会自动可用。',
  signedOut: '登录后购买',
  signedOutNote: '您尚未登录。请先在商店页面登录，再回到此页。',
  signIn: '登录',
  signInNote: '您尚未登录。商店会为您登录，并带您回到此页。',
  attemptsUsed: '次数已用完',
  attemptsUsedNote: '您对该商品的抢购次数已用完。',
  cooling: seconds => `请稍候… ${seconds}`,
  coolingNotes: {
    sold_out: '刚才已抢光，现在又放出了一件。',
    not_enough: '剩余数量不足，已为您减少数量。',
    sale_paused: '抢购已恢复，请稍候再按。',
    hold_limit: '您的账号或网络有过多未支付的订单。请先完成支付，或稍后再试。',
    challenge_required: '此浏览器无法完成本场要求的校验，请使用新版浏览器并通过 HTTPS 访问。',
    challenge_invalid: '校验超时，请再按一次。',
    not_admitted: '本场需要排队，轮到您时按钮即可使用。',
    denied: '商店未允许您参加本场抢购，请联系商店。已有的订单不受影响。',
    other: '操作未成功，请稍候再按。',
  },

  yours: '抢到了',
  yoursNote: '请及时支付以保留商品。',
  payNow: '去支付',
  openingPay: '正在打开支付页…',
  payFailed: '无法打开支付页，请重试。',
  payUsed: '该订单发起支付的次数过多。请取消订单后重新下单。',
  payUnavailable: '商店尚未在此开通支付，请联系商店。',
  checkingPay: '正在确认您的付款…',
  notPaid: '没有收到付款。如未完成支付，请重新支付。',
  payLeft: '支付剩余时间',
  payDue: '支付时间已过，订单正在关闭…',
  cancel: '取消订单',
  cancelAsk: () => '确定取消这笔订单？商品将重新放出。',
  cancelYes: '确定取消',
  cancelNo: '保留订单',
  cancelling: '正在取消…',
  cancelFailed: '暂时无法取消，请重试。',
  paid: '已支付',
  paidNote: '谢谢，订单已完成。',
  seeOrder: '查看订单',
  order: '订单',
  orderNumber: '订单号',
  amount: '金额',
  ordered: '下单时间',
  paidOn: '支付时间',
  closedOn: '关闭时间',
  noOrders: '还没有订单',
  noOrdersNote: '抢到的商品会列在这里。',
  olderOrders: '显示更早的订单',
  backToSale: '返回抢购页',
  backToOrders: '全部订单',
  unknownItem: '商品',
  states: { reserved: '生成中', pending: '待支付', paid: '已支付', closed: '已关闭' },
  reasons: { unpaid: '超时未支付', cancelled: '已取消', refused: '未能生成', refunded: '已退款' },
  reasonNotes: {
    unpaid: () => '支付时间已过，商品已重新放出。',
    cancelled: () => '这笔订单已取消，商品已重新放出。',
    refused: () => '订单未能生成，没有扣款。',
    refunded: () => '款项正在退回。',
  },
  closedBefore: reason => `您的上一笔订单：${reason}。`,

  saidOpen: '已开抢，现在可以购买。',
  saidSoon: time => `距开抢还有 ${time}。`,
  saidBack: '有商品重新放出，现在可以购买。',
  saidPlaced: '抢到了，订单已生成。',
}

/** The browser's regional variant of the language shown, for times and numbers: 24 hours in London, 12 in Boston. */
export function formatLocale(): string {
  return navigator.languages.find(one => one.split('-')[0] === current) ?? words().locale
}

const KEPT = 'stampede.language'
let current: Language = first()

export function words(): Words {
  return current === 'zh' ? zh : en
}

/** Of a sale or an item, in the language shown where it has such a name. */
export function nameOf({ name, texts }: Pick<Item, 'name' | 'texts'>): string {
  return texts?.[current]?.name ?? name
}

export function switchLanguage(): void {
  current = current === 'zh' ? 'en' : 'zh'
  try {
    localStorage.setItem(KEPT, current)
  } catch {}
  store.changed()
}

function first(): Language {
  try {
    const kept = localStorage.getItem(KEPT)
    if (kept === 'en' || kept === 'zh') return kept
  } catch {}
  for (const language of navigator.languages) {
    if (/^zh\b/i.test(language)) return 'zh'
    if (/^en\b/i.test(language)) return 'en'
  }
  return 'en'
}
