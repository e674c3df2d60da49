/** Every text about choosing a way to pay and about its code, in both languages. */

import { kindOf, type PayChoice } from '../buy/pay-choices.ts'
import { words } from '../words.ts'

const en = {
  how: 'How do you want to pay?',
  /** By the provider's kind. */
  names: {
    stripe: 'Card',
    alipay: 'Alipay',
    wechat: 'WeChat Pay',
    shop: 'The shop’s checkout',
    sandbox: 'Test payment',
  } as Readonly<Record<string, string>>,
  scanHint: 'Scan a code with your phone',
  pageHint: 'On the payment page; you come back here',
  showCode: 'Show the code',
  openingCode: 'Getting the code…',
  codeFailed: 'The code could not be loaded. Check your connection and reload this page.',
  waiting: 'Waiting for your payment. This page shows when it has arrived.',
  otherWay: 'Pay another way',
  tryAgain: 'Try again',
  declined: 'The payment was declined, and you have not been charged. Try again, or pay another way.',
  declinedOnly: 'The payment was declined, and you have not been charged. You can try again.',
  refused: 'This way to pay does not work for this order. Choose another one.',
  expired: 'The payment was not completed, and you have not been charged. You can try again.',
}

type PaymentWords = typeof en

const zh: PaymentWords = {
  how: '选择支付方式',
  names: { stripe: '银行卡', alipay: '支付宝', wechat: '微信支付', shop: '商店收银台', sandbox: '测试支付' },
  scanHint: '用手机扫码支付',
  pageHint: '前往支付页面，完成后返回',
  showCode: '显示二维码',
  openingCode: '正在获取二维码…',
  codeFailed: '二维码加载失败。请检查网络并刷新页面。',
  waiting: '等待付款。付款到账后，页面会自动更新。',
  otherWay: '换一种支付方式',
  tryAgain: '重新支付',
  declined: '支付未成功，没有扣款。请重试，或换一种支付方式。',
  declinedOnly: '支付未成功，没有扣款。可以重新支付。',
  refused: '此支付方式不适用于该订单，请换一种方式。',
  expired: '支付没有完成，没有扣款。可以重新支付。',
}

export function paymentWords(): PaymentWords {
  return words().locale === 'en' ? en : zh
}

/** The name of each choice; the account too, where two would have the same name. */
export function namesOf(choices: readonly PayChoice[]): readonly string[] {
  const plain = (provider: string) => paymentWords().names[kindOf(provider)] ?? provider
  return choices.map(({ provider, qr }) => {
    const alike = choices.some(
      other => other.provider !== provider && other.qr === qr && plain(other.provider) === plain(provider),
    )
    return alike ? `${plain(provider)} (${provider})` : plain(provider)
  })
}
