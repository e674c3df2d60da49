/** Every text about editing a published sale, in both languages. */

import { words } from '../words.ts'

const en = {
  title: (name: string) => `Edit “${name}”, which is published`,
  note: 'Buyers have seen this sale: only what breaks no promise to them can be changed. Every other field says why it stays.',
  save: 'Save changes',
  saved: (name: string) => `“${name}” is changed. Buyers see it within a moment.`,
  unchanged: 'Nothing is changed yet.',
  laterOrders: 'Applies to later orders.',
  fixed: {
    opened: 'Stays: the sale has opened.',
    over: 'Stays: the sale is over.',
    draw: 'Stays: the line is open, and its draw names the moment of the seal.',
    warming: 'Stays: the warm-up has begun.',
    price: 'Stays: buyers have seen this price.',
    units: 'Use “Change stock” on the sale’s page.',
    limits: 'Stays: every buyer gets the same limit.',
    line: 'Stays: buyers have seen how they are let in.',
    items: 'Items can’t be added or removed: buyers have seen the list. Copy the sale instead.',
  },
}

type EditWords = typeof en

const zh: EditWords = {
  title: name => `编辑已发布的“${name}”`,
  note: '买家已看到本场活动：只能修改不违背对买家承诺的内容。其余各项会说明不能修改的原因。',
  save: '保存修改',
  saved: name => `“${name}”已修改，买家很快就会看到。`,
  unchanged: '还没有任何修改。',
  laterOrders: '仅对之后的订单生效。',
  fixed: {
    opened: '不可修改：活动已开始。',
    over: '不可修改：活动已结束。',
    draw: '不可修改：排队已开放，抽签已写明封存时刻。',
    warming: '不可修改：预热已开始。',
    price: '不可修改：买家已看到此价格。',
    units: '请在场次页面使用“调整库存”。',
    limits: '不可修改：所有买家的限购必须相同。',
    line: '不可修改：买家已看到放行方式。',
    items: '不能增减商品：买家已看到商品列表。可以复制本场。',
  },
}

export function editWords(): EditWords {
  return words().locale === 'en' ? en : zh
}
