/**
 * The address of the shop's own till, from SHOP_PAY_URL: an http(s) address with names in braces, which are replaced by what the till must
 * know, encoded for an address. The names may stand behind the host only. It passes through the buyer's browser, so a till can have it signed.
 */

import { createHmac, type KeyObject } from 'node:crypto'
import { toRfc3339 } from '../base/clock.ts'
import type { PaymentRequest } from './payment.ts'
import { checkReturnUrl } from './return-url.ts'

const NAMES = ['order', 'ref', 'amount', 'currency', 'payBy', 'return', 'signature'] as const
type Name = (typeof NAMES)[number]

const NAMED = /\{([^{}]*)\}/g

/** What is wrong with a template, as the end of a sentence; undefined: nothing. */
export function payUrlProblem(template: string): string | undefined {
  const unknown = Array.from(template.matchAll(NAMED), match => match[1] ?? '').find(name => !isName(name))
  if (unknown !== undefined) return `knows no {${unknown}}: write one of ${NAMES.map(name => `{${name}}`).join(' ')}`
  if (!template.includes('{order}')) return 'must contain {order}: the till reports the order that was paid'
  const url = URL.parse(template.replaceAll(NAMED, 'x'))
  const isWeb = url !== null && /^https?:\/\/[^/?#{}]+[/?#]/.test(template)
  if (!isWeb || url.username !== '' || url.password !== '')
    return 'must be an http(s) address without a password, with the names in braces behind the host'
  return /[\s\\{}]/.test(template.replaceAll(NAMED, ''))
    ? 'must not contain blanks, backslashes or single braces'
    : undefined
}

/** @param publicUrl where a buyer goes back to who came without a return address, and what a path among them begins with */
export function payUrlOf(template: string, key: KeyObject, request: PaymentRequest, publicUrl: string): string {
  const { order = '', ref, amount, payByMs, returnUrl } = request
  const payBy = toRfc3339(payByMs)
  const back = new URL(checkReturnUrl(returnUrl) ?? '/', publicUrl).href
  const signed = ['pay', order, ref, amount.amount, amount.currency, payBy].join('.')
  const values: Readonly<Record<Name, string>> = {
    order,
    ref,
    amount: String(amount.amount),
    currency: amount.currency,
    payBy,
    return: back,
    // It begins unlike a signed report, so that neither can be taken for the other.
    signature: createHmac('sha256', key).update(signed).digest('hex'),
  }
  return template.replaceAll(NAMED, (whole, name: string) => (isName(name) ? encodeURIComponent(values[name]) : whole))
}

function isName(name: string): name is Name {
  return (NAMES as readonly string[]).includes(name)
}
