/** Every text about the access list, in both languages. */

import { words } from '../words.ts'

const en = {
  title: 'Lists',
  note: 'Who is kept out, and who is let in past limits and challenges. In force on every server within a second; an order that a buyer holds stays the buyer’s.',
  none: 'The list is empty',
  noneNote: 'No address, buyer or claim is kept out or let in.',
  add: 'Add to the list',
  kind: 'What',
  kinds: { deny: 'Keep out', allow: 'Let in' },
  subject: 'Who',
  subjects: { address: 'Address', prefix: 'Range of addresses', buyer: 'Buyer', claim: 'Claim of the token' },
  value: 'Value',
  hints: {
    address: '203.0.113.7; of IPv6 its /64 counts',
    prefix: '203.0.113.0/24 or 2001:db8::/32',
    buyer: 'The buyer’s id',
    claim: 'name=value, as the shop’s token has it',
  },
  until: 'Until',
  forGood: 'for good',
  reason: 'Reason',
  by: 'By',
  remove: 'Remove',
  removeOf: (value: string) => `Remove ${value} from the list`,
  removeTitle: 'Take it off the list?',
  removeWhat: (value: string) => `${value} is then treated like all others, on every server within a second.`,
  added: (value: string) => `${value} is on the list.`,
  removed: (value: string) => `${value} is off the list.`,
}

type ListWords = typeof en

const zh: ListWords = {
  title: '名单',
  note: '被拦截的，以及不受限流和校验约束的。一秒内在所有节点生效；买家已有的订单不受影响。',
  none: '名单为空',
  noneNote: '没有被拦截的，也没有免受限流的。',
  add: '加入名单',
  kind: '操作',
  kinds: { deny: '拦截', allow: '放行' },
  subject: '对象',
  subjects: { address: '地址', prefix: '地址段', buyer: '买家', claim: '令牌声明' },
  value: '值',
  hints: {
    address: '203.0.113.7；IPv6 按 /64 计',
    prefix: '203.0.113.0/24 或 2001:db8::/32',
    buyer: '买家编号',
    claim: '名称=值，与商店令牌一致',
  },
  until: '截止',
  forGood: '长期',
  reason: '原因',
  by: '操作人',
  remove: '移除',
  removeOf: value => `移除 ${value}`,
  removeTitle: '移出名单？',
  removeWhat: value => `${value} 将与其他人同等对待，一秒内在所有节点生效。`,
  added: value => `${value} 已加入名单。`,
  removed: value => `${value} 已移出名单。`,
}

export function listWords(): ListWords {
  return words().locale === 'en' ? en : zh
}
