/** Every text about a code to scan, in English and Chinese. Free of the page's other texts: it is loaded apart. */

const en = {
  /** The app that reads its codes, by the provider's kind. */
  apps: { alipay: 'Alipay', wechat: 'WeChat' } as Readonly<Record<string, string>>,
  anyApp: 'your phone',
  scanWith: (app: string) => `Scan with ${app}`,
  scanElsewhere: (app: string) => `To scan it, open this page on another screen and use ${app} on this phone.`,
  codeFor: (amount: string, app: string) => `QR code: pay ${amount} with ${app}`,
  saidCode: (app: string, amount: string) => `The code is shown. Scan it with ${app} to pay ${amount}.`,
  openApp: (app: string) => `Open ${app}`,
}

type PayCodeWords = typeof en

const zh: PayCodeWords = {
  apps: { alipay: '支付宝', wechat: '微信' },
  anyApp: '手机',
  scanWith: app => `请用${app}扫码`,
  scanElsewhere: app => `请在另一块屏幕上打开此页，再用本机的${app}扫码。`,
  codeFor: (amount, app) => `二维码：用${app}支付 ${amount}`,
  saidCode: (app, amount) => `二维码已显示。请用${app}扫码支付 ${amount}。`,
  openApp: app => `打开${app}`,
}

/** @param locale of the page's texts */
export function payCodeWords(locale: string): PayCodeWords {
  return locale === 'en' ? en : zh
}
