/** Every text about how buyers can be reached, in both languages. */

import { words } from '../words.ts'

const en = {
  asked: 'Asked of buyers before they pay',
  fields: { email: 'E-mail', phone: 'Phone', name: 'Name', address: 'Address' },
  contact: 'Contact',
  metadata: 'From the shop’s page',
}

type ContactWords = typeof en

const zh: ContactWords = {
  asked: '付款前向买家询问',
  fields: { email: '电子邮箱', phone: '电话', name: '姓名', address: '地址' },
  contact: '联系方式',
  metadata: '商店页面附带的信息',
}

export function contactWords(): ContactWords {
  return words().locale === 'en' ? en : zh
}
