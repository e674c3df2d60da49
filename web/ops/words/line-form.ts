/** Every text about a waiting line on the form of a sale, in both languages. */

import { words } from '../words.ts'

const en = {
  title: 'Waiting line or draw',
  note: 'Buyers join a line and get tickets only when they are let in, as fast as there are units for them. Without a line, the first to ask get the units.',
  order: 'Order of the line',
  orders: { '': 'No line', arrival: 'By arrival', draw: 'By draw' },
  orderHints: {
    '': 'First come, first served.',
    arrival: 'Programs are the first to arrive.',
    draw: 'Everyone who joins before the seal gets a place by lot, which anyone can check.',
  },
  fields: {
    opensAt: 'The line opens',
    rate: 'People let in per second',
    claimWithinSeconds: 'Time to order when let in (seconds)',
    claim: 'Claim that may join once',
    sealsAt: 'The joins are sealed',
    'beacon.source': 'Public random value (beacon)',
    'beacon.round': 'Round of drand',
  },
  hints: {
    opensAt: 'Not later than the sale. Empty: with the sale.',
    rate: '“auto”, or a number from 0.1 up. You can change it while the line moves.',
    claim: 'Of the shop’s token, as “phone”: each value of it joins once. Empty: each account.',
    sealsAt: 'Empty: a minute before the sale opens.',
    'beacon.source':
      '“drand” is fetched and checked; anything else is a source in your words, whose value you enter after the seal. Empty: the record says that you could have tried out last joins.',
    'beacon.round': 'Empty: the first one after the seal.',
  } as Readonly<Record<string, string>>,
  badRate: 'Write auto, or a number such as 50 or 0.5.',
}

type LineFormWords = typeof en

const zh: LineFormWords = {
  title: '排队或抽签',
  note: '买家先排队，放行后才能领取抢购资格，放行速度与库存匹配。不设排队时，先到先得。',
  order: '排队顺序',
  orders: { '': '不排队', arrival: '按先后', draw: '抽签' },
  orderHints: {
    '': '先到先得。',
    arrival: '程序总是最先到达。',
    draw: '封存前加入的人由抽签决定顺序，任何人都可核对。',
  },
  fields: {
    opensAt: '排队开始时间',
    rate: '每秒放行人数',
    claimWithinSeconds: '放行后下单时限（秒）',
    claim: '只能加入一次的令牌声明',
    sealsAt: '名单封存时间',
    'beacon.source': '公开随机值（信标）',
    'beacon.round': 'drand 轮次',
  },
  hints: {
    opensAt: '不晚于开抢时间。留空：与开抢同时。',
    rate: '“auto” 或不小于 0.1 的数字，放行期间可调整。',
    claim: '商家令牌中的声明，如 “phone”：每个值只能加入一次。留空：每个账号一次。',
    sealsAt: '留空：开抢前一分钟。',
    'beacon.source':
      '“drand” 会自动获取并校验；其他内容为您指定的公开来源，封存后由您录入其数值。留空：记录会注明商家可能试算过最后的加入。',
    'beacon.round': '留空：封存后的第一轮。',
  },
  badRate: '请填写 auto，或数字，如 50、0.5。',
}

export function lineFormWords(): LineFormWords {
  return words().locale === 'en' ? en : zh
}
