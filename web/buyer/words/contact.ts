/** Every text about the contact that a sale asks for, in both languages. Free of the page's other texts: its form is loaded apart. */

const en = {
  title: 'Where does it go?',
  titleSaid: 'It goes to',
  busy: 'Loading…',
  intro: 'The shop needs this before you pay. Your order is kept meanwhile.',
  labels: { email: 'E-mail', phone: 'Phone', name: 'Name', address: 'Address' },
  save: 'Save and go on',
  saving: 'Saving…',
  saved: 'Saved.',
  change: 'Change',
  missing: 'Say how you can be reached, then you can pay.',
  tooLate: 'The order can no longer be changed here.',
  wrong: {
    email: 'Write an e-mail address like ann@example.com.',
    phone: 'Write a phone number, with 5 to 20 digits.',
    name: 'Write your name, on one line.',
    address: 'Write the address, in at most 500 characters.',
  },
  notSaved: 'This could not be saved. Check your connection and try again.',
}

type ContactWords = typeof en

const zh: ContactWords = {
  title: '寄到哪里？',
  titleSaid: '寄送信息',
  busy: '正在加载…',
  intro: '付款前，商店需要这些信息。您的订单会一直保留。',
  labels: { email: '电子邮箱', phone: '电话', name: '姓名', address: '地址' },
  save: '保存并继续',
  saving: '正在保存…',
  saved: '已保存。',
  change: '修改',
  missing: '请先填写联系方式，然后付款。',
  tooLate: '此处已无法修改该订单。',
  wrong: {
    email: '请填写电子邮箱，例如 ann@example.com。',
    phone: '请填写电话号码，5 到 20 位数字。',
    name: '请在一行内填写姓名。',
    address: '请填写地址，最多 500 个字符。',
  },
  notSaved: '保存失败。请检查网络后重试。',
}

/** @param locale of the page's texts */
export function contactWords(locale: string): ContactWords {
  return locale === 'en' ? en : zh
}
