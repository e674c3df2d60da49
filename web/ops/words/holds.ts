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
  limits: 'Limits of units that are held unpaid',
  limitsNote:
    'Counts units of open unpaid orders, and for a while of orders that ended unpaid or cancelled. Empty: not limited. Hundreds of honest buyers may share one network.',
  limit: {
    perBuyer: 'Units per buyer',
    perPrefix: 'Units per network (/24, /48)',
    perClaim: 'Units per claim',
    unpaidCountsSeconds: 'An unpaid order goes on counting (seconds)',
    attemptsUnpaid: 'Attempts after an unpaid order',
    payAgainSeconds: 'Time to pay from the second attempt on (seconds)',
  },
  limitHints: {
    perBuyer: 'Over all items of the sale. At least what one order may have.',
    perClaim: "By a claim of the shop's token, as “phone_hash 4”, with commas.",
    unpaidCountsSeconds: 'Empty: as long as there was to pay.',
  } as Readonly<Record<string, string>>,
  badClaim: 'Write each as its name and a number: phone_hash 4',
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
  limits: '未支付占用上限',
  limitsNote: '计入未支付的订单，以及一段时间内未支付关闭或取消的订单。留空：不限制。同一网络可能有数百名正常买家。',
  limit: {
    perBuyer: '每位买家（件）',
    perPrefix: '每个网络（/24、/48，件）',
    perClaim: '每个令牌声明（件）',
    unpaidCountsSeconds: '未支付关闭后继续计入（秒）',
    attemptsUnpaid: '未支付关闭后的下单次数',
    payAgainSeconds: '第二次下单起的支付时限（秒）',
  },
  limitHints: {
    perBuyer: '本场所有商品合计，不应少于单笔可购件数。',
    perClaim: '商家令牌中的声明，如 “phone_hash 4”，用逗号分隔。',
    unpaidCountsSeconds: '留空：与支付时限相同。',
  },
  badClaim: '请写成名称和数字：phone_hash 4',
}

export function holdWords(): HoldWords {
  return words().locale === 'en' ? en : zh
}
