/**
 * The sandbox's pages: one to pay on, one with the result. Plain HTML that works without a script, fit for a phone, in English or Chinese; the one script writes times in the
 * buyer's own zone. Every
 * value is escaped, and a content security policy limits what a page may load and where its forms may lead.
 */

import { createHash } from 'node:crypto'
import { toRfc3339 } from '../../base/clock.ts'
import { formatMoney } from '../../domain/money.ts'
import type { SandboxPayment } from './sandbox-payment.ts'

export type Language = 'en' | 'zh'

const WORDS = {
  en: {
    locale: 'en',
    title: 'Sandbox payment',
    sandbox: 'This is a sandbox: no money moves.',
    payBy: 'Pay by',
    approve: 'Approve',
    decline: 'Decline',
    back: 'Back to the shop',
    captured: 'Paid',
    void: 'Not paid: declined or cancelled',
    refunded: 'Paid, and given back',
    missing: 'There is no such payment',
  },
  zh: {
    locale: 'zh-CN',
    title: '沙盒支付',
    sandbox: '这是沙盒环境，不会发生真实扣款。',
    payBy: '请在此时间前支付',
    approve: '同意支付',
    decline: '拒绝支付',
    back: '返回商店',
    captured: '已支付',
    void: '未支付：已拒绝或已取消',
    refunded: '已支付并已退款',
    missing: '没有这笔支付',
  },
} as const

const ACCEPT_LENGTH_MAX = 500

const STYLE = `
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:16px;background:#f3f4f6;color:#111827;
font:16px/1.5 system-ui,-apple-system,"PingFang SC","Microsoft YaHei",sans-serif}
main{width:100%;max-width:380px;padding:24px;border-radius:16px;background:#fff;box-shadow:0 2px 16px rgb(0 0 0/.08)}
h1{margin:0 0 4px;font-size:18px}
p{margin:8px 0;overflow-wrap:anywhere}
.note{color:#4b5563;font-size:14px}
.amount{font-size:34px;font-weight:700;margin:16px 0 0}
form{margin:12px 0 0}
button,a.back{display:block;width:100%;min-height:48px;border:1px solid #9ca3af;border-radius:12px;background:#fff;color:#111827;
font:inherit;font-weight:600;text-align:center;line-height:46px;text-decoration:none;cursor:pointer}
button.approve{border-color:#166534;background:#166534;color:#fff}
button:focus-visible,a:focus-visible{outline:3px solid #2563eb;outline-offset:2px}
@media (prefers-color-scheme:dark){body{background:#111827;color:#f9fafb}main{background:#1f2937}.note{color:#d1d5db}
button,a.back{background:#1f2937;color:#f9fafb}}
`
/** Without it the time stands there in UTC. */
const SCRIPT =
  "for(const t of document.querySelectorAll('time'))t.textContent=new Date(t.dateTime).toLocaleString(document.documentElement.lang,{dateStyle:'medium',timeStyle:'long'})"
const SCRIPT_HASH = createHash('sha256').update(SCRIPT).digest('base64')
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/**
 * Browsers apply `form-action` to the redirect after a form too, so it names the shop's site.
 * `returnUrl` has passed `checkReturnUrl`: its origin has only characters that a header may hold.
 */
export function contentSecurityPolicy(returnUrl: string | undefined): string {
  const shop = returnUrl === undefined || returnUrl.startsWith('/') ? '' : ` ${new URL(returnUrl).origin}`
  return `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; script-src 'sha256-${SCRIPT_HASH}'; form-action 'self'${shop}; base-uri 'none'; frame-ancestors 'none'`
}

/** The preferred one of the two in `Accept-Language`, the first of equals; English when neither is named. */
export function languageOf(acceptLanguage: string | undefined): Language {
  let best: { language: Language; q: number } = { language: 'en', q: 0 }
  for (const part of (acceptLanguage ?? '').slice(0, ACCEPT_LENGTH_MAX).split(',')) {
    const [, name, q] = /^\s*(en|zh)(?:-[a-z0-9-]+)?\s*(?:;\s*q=([0-9.]+))?\s*$/i.exec(part) ?? []
    if (name === undefined) continue
    const weight = q === undefined ? 1 : Number(q) || 0
    if (weight > best.q) best = { language: name.toLowerCase() as Language, q: weight }
  }
  return best.language
}

/** The page at payUrl: two buttons while the payment is open, then its result. `token` is the last part of its path. */
export function renderPayment(payment: SandboxPayment, token: string, language: Language): string {
  const words = WORDS[language]
  const { asked } = payment
  const what = asked
    ? `<p class="amount">${escapeHtml(formatMoney(asked.amount, words.locale))}</p><p>${escapeHtml(asked.description)}</p>`
    : ''
  if (payment.state === 'open') {
    const payBy = toRfc3339(payment.asked!.payByMs)
    // Relative: a proxy may serve the site below a path.
    const form = (action: 'approve' | 'decline') =>
      `<form method="post" action="${escapeHtml(`${token}/${action}`)}"><button class="${action}">${words[action]}</button></form>`
    const deadline = `<p class="note">${words.payBy} <time datetime="${payBy}">${payBy.slice(0, 19).replace('T', ' ')} UTC</time></p>`
    return page(language, `${what}${deadline}${form('approve')}${form('decline')}`)
  }
  const back = asked?.returnUrl
  const link =
    back === undefined ? '' : `<p><a class="back" href="${escapeHtml(back)}" rel="noreferrer">${words.back}</a></p>`
  return page(language, `${what}<p role="status"><strong>${words[payment.state]}</strong></p>${link}`)
}

export function renderMissing(language: Language): string {
  return page(language, `<p role="status">${WORDS[language].missing}</p>`)
}

function page(language: Language, content: string): string {
  const { locale, title, sandbox } = WORDS[language]
  return `<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body><main><h1>${title}</h1><p class="note">${sandbox}</p>${content}</main><script>${SCRIPT}</script></body>
</html>
`
}

const ENTITIES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&${ENTITIES[character]};`)
}
