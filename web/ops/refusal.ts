/**
 * The text of a refusal: without the field's path, because the text is shown at the field, and translated where it is a common one. Any other
 * text is shown as the server sent it.
 */

import { formatCount } from './format.ts'
import type { Words } from './words/en.ts'
import { words } from './words.ts'

interface Refusal {
  readonly code: string
  readonly detail: string
  readonly field: string | undefined
}

type Translate = (text: Words['refusals'], figure: string) => string

const FIELD_RULES: readonly (readonly [RegExp, Translate])[] = [
  [/^Too small: expected string to have >=1 char/, text => text.empty],
  [/^Too big: expected string to have <=(\d+) char/, (text, figure) => text.tooLong(figure)],
  [/^Too small: expected \w+ to be >=(-?\d+)/, (text, figure) => text.tooSmall(figure)],
  [/^Too big: expected \w+ to be <=(-?\d+)/, (text, figure) => text.tooBig(figure)],
  [/^must not contain control characters/, text => text.control],
  [/^must be a currency code/, text => text.currency],
  [/^must be in the currency of the price/, text => text.otherCurrency],
  [/^must be an http\(s\) address/, text => text.address],
  [/^must be later than opensAt/, text => text.notLater],
  [/^must lie between 1970 and 2200/, text => text.farAway],
  [/^is too many at this price/, text => text.tooMuch],
  [/^must not be 0/, text => text.zero],
]

const CODES: Readonly<Record<string, Translate>> = {
  forbidden: text => text.forbidden,
  not_found: text => text.gone,
  order_paid: text => text.orderPaid,
  order_not_paid: text => text.orderNotPaid,
  order_closed: text => text.orderClosed,
  not_retryable: text => text.notRetryable,
  sale_over: text => text.saleOver,
  rate_limited: text => text.tooOften,
  internal: text => text.internal,
}

/** What is wrong with a field, shown next to it. */
export function fieldWrong({ detail, field }: Refusal): string {
  const text = words().refusals
  const problem = detail.replace(/^"[^"]*": /, '').replace(/\.$/, '')
  // The server's limit is in minor units, which operators do not type.
  if (/\.(price|listPrice)(\.|$)/.test(`.${field}`) && problem.startsWith('Too big')) return text.tooDear
  for (const [rule, translate] of FIELD_RULES) {
    const match = rule.exec(problem)
    if (match !== null) return translate(text, formatCount(Number(match[1] ?? 0)))
  }
  return problem
}

/** What is wrong with the whole request. In English it is the server's own text, which is more exact. */
export function wholeWrong(refusal: Refusal): string {
  const { locale, refusals } = words()
  return (locale === 'en' ? undefined : CODES[refusal.code]?.(refusals, '')) ?? refusal.detail
}
