/** Every text about unpaid holds, in both languages. */

import { words } from '../words.ts'

const en = {
  title: 'Unpaid orders',
  link: 'Unpaid',
  note: 'Orders that are open and not paid, oldest first, with the network and the claims behind them where the sale limits holds. Units of cancelled ones are on sale again within 2 s.',
  none: 'Nothing is held unpaid',
  noneNote: 'Every order of this sale is paid or closed.',
  groups: 'Most units are behind',
  group: (value: string, orders: string, units: string) => `${value}: ${orders} orders, ${units} units`,
  all: 'All',
  chooseAll: 'Choose all that are shown',
  chooseOne: (buyer: string) => `Choose the order of ${buyer}`,
  buyer: 'Buyer',
  quantity: 'Units',
  payBy: 'Pay by',
  from: 'From',
  unknown: 'not known',
  cancel: (count: string) => `Cancel ${count} chosen`,
  cancelTitle: (count: string) => `Cancel ${count} orders?`,
  cancelWhat: 'A provider is asked first whether money has come; paid orders stay. Each cancelled order is in the log.',
  cancelConfirm: 'Cancel them',
  done: (cancelled: string, kept: string) => `${cancelled} cancelled, ${kept} not.`,
}

type HoldWords = typeof en

const zh: HoldWords = {
  title: '未支付订单',
  link: '未支付',
  note: '尚未支付的订单，最早的在前；设置了占用上限的场次会显示来源网络和令牌声明。取消后，商品在 2 秒内重新开售。',
  none: '没有未支付的占用',
  noneNote: '本场所有订单均已支付或关闭。',
  groups: '占用最多的来源',
  group: (value, orders, units) => `${value}：${orders} 个订单，${units} 件`,
  all: '全部',
  chooseAll: '选择当前显示的全部',
  chooseOne: buyer => `选择 ${buyer} 的订单`,
  buyer: '买家',
  quantity: '件数',
  payBy: '支付截止',
  from: '来源',
  unknown: '未知',
  cancel: count => `取消所选 ${count} 个`,
  cancelTitle: count => `取消 ${count} 个订单？`,
  cancelWhat: '会先向支付渠道确认是否已付款；已支付的订单保留。每个取消都会记入日志。',
  cancelConfirm: '确认取消',
  done: (cancelled, kept) => `已取消 ${cancelled} 个，未取消 ${kept} 个。`,
}

export function holdWords(): HoldWords {
  return words().locale === 'en' ? en : zh
}
