/** Every text about dead letters, in both languages. */

import { words } from '../words.ts'

const en = {
  title: 'Dead letters',
  note: 'Reservations that could not be placed. A buyer’s order is usually born closed, and its unit is on sale again. The newest first.',
  none: 'No dead letters',
  noneNote: 'Every reservation that was read could be placed.',
  when: 'When',
  item: 'Item',
  unknownItem: 'not readable',
  reason: 'Reason',
  became: 'What became of it',
  noOrder: 'No order was born',
  unreadable: 'No reservation can be read from it.',
  details: 'Details',
  from: (entry: string, epoch: string) => `read from ${entry}, epoch ${epoch}`,
  retry: 'Try again',
  retryOf: (id: string) => `Try again: dead letter ${id}`,
  retryTitle: 'Try to place it again?',
  retryWhat:
    'It is placed as it would have been then. If the stock was loaded anew since, the order is written as closed.',
  retried: (id: string) => `Dead letter ${id} was tried again; its orders are shown.`,
}

type DeadWords = typeof en

const zh: DeadWords = {
  title: '死信',
  note: '无法落单的预留。买家的订单通常直接以“已关闭”写入，库存会重新上架。最新的在前。',
  none: '没有死信',
  noneNote: '所有读到的预留都已落单。',
  when: '时间',
  item: '商品',
  unknownItem: '无法读取',
  reason: '原因',
  became: '结果',
  noOrder: '没有产生订单',
  unreadable: '无法从中读出任何预留。',
  details: '详情',
  from: (entry, epoch) => `来自 ${entry}，epoch ${epoch}`,
  retry: '重试',
  retryOf: id => `重试：死信 ${id}`,
  retryTitle: '再次尝试落单？',
  retryWhat: '将按当时的方式落单。如果此后库存已重新装入，订单会直接以“已关闭”写入。',
  retried: id => `已重试死信 ${id}，其订单已显示。`,
}

export function deadWords(): DeadWords {
  return words().locale === 'en' ? en : zh
}
