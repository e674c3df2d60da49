/** Every refusal that a buyer can get has its text in two languages on the page, and its entry in the runbook. */

import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { problemsOf } from '../../src/wire/call.ts'
import { ALL_CALLS } from '../../src/wire/calls/all-calls.ts'
import { PROBLEMS, type ProblemCode } from '../../src/wire/problems.ts'

// The page's modules read the browser's language when they are loaded, and later tests of this process must not find it changed.
const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator')
Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { languages: ['en'], onLine: true } })
const { switchLanguage, words } = await import('../../web/buyer/words.ts')
const { paymentWords } = await import('../../web/buyer/words/payment.ts')
const { contactWords } = await import('../../web/buyer/words/contact.ts')

if (before !== undefined) Object.defineProperty(globalThis, 'navigator', before)

const ROOT = join(import.meta.dirname, '../..')
const CODES = new Set(
  ALL_CALLS.filter(({ group, who }) => group === 'Buyers' && who !== 'provider').flatMap(call => problemsOf(call)),
)

const cooling = (code: string) => words().coolingNotes[code]
/** What the page shows; a code of a client that sends something wrong, which the page does not do, has the general text. */
const SHOWN: Partial<Record<ProblemCode, () => string | undefined>> = {
  rate_limited: () => words().limitedNote,
  denied: () => cooling('denied'),
  hold_limit: () => cooling('hold_limit'),
  not_admitted: () => cooling('not_admitted'),
  not_in_line: () => cooling('not_admitted'),
  claim_required: () => cooling('claim_required'),
  claim_used: () => cooling('claim_used'),
  not_drawn: () => cooling('other'),
  challenge_required: () => cooling('challenge_required'),
  challenge_invalid: () => cooling('challenge_invalid'),
  unauthenticated: () => words().signedOutNote,
  forbidden: () => words().signedOutNote,
  sold_out: () => words().soldOutNote,
  not_enough: () => cooling('not_enough'),
  sale_not_open: () => words().beforeNote,
  sale_paused: () => words().pausedNote,
  sale_over: () => words().overNote,
  attempts_used: () => words().attemptsUsedNote,
  ticket_invalid: () => cooling('other'),
  quantity_invalid: () => cooling('other'),
  body_invalid: () => cooling('other'),
  body_too_large: () => cooling('other'),
  not_found: () => words().notFoundNote,
  order_paid: () => words().paidNote,
  order_closed: () => words().payDue,
  not_placed: () => words().reservedNote,
  payments_used: () => words().payUsed,
  payment_refused: () => paymentWords().refused,
  contact_missing: () => contactWords(words().locale).missing,
  contact_invalid: () => contactWords(words().locale).wrong.email,
  no_payment_provider: () => words().payUnavailable,
  busy: () => words().sendingAgainNote,
  internal: () => words().sendingAgainNote,
}

test('there is a text for each, in English and in Chinese', () => {
  const texts = () => Object.fromEntries([...CODES].map(code => [code, SHOWN[code]?.()]))
  const english = texts()
  switchLanguage()
  const chinese = texts()
  switchLanguage()
  const missing = [...CODES].filter(code => !english[code] || !/[\u4e00-\u9fff]/.test(chinese[code] ?? ''))
  expect(missing, 'add a text to web/buyer/words.ts and name it here').toEqual([])
  expect([...CODES].filter(code => /[\u4e00-\u9fff]/.test(english[code] ?? ''))).toEqual([])
})

test('there is an entry for each in the runbook, and none for a refusal that does not exist', () => {
  const text = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8')
  const part = text.split('### What buyers are told')[1]?.split('\n### ')[0] ?? ''
  const rows = [...part.matchAll(/^\| `([a-z_]+)` \| (.+) \| (.+) \|$/gm)].map(([, code, look, act]) => ({
    code,
    look,
    act,
  }))
  expect(
    [...CODES].filter(code => !rows.some(row => row.code === code)),
    'add a row',
  ).toEqual([])
  expect(rows.filter(({ look = '', act = '' }) => look.trim() === '' || act.trim() === '')).toEqual([])
  const known = new Set(Object.keys(PROBLEMS))
  expect(rows.filter(({ code = '' }) => !known.has(code))).toEqual([])
})

test('the page looks up refusals by codes that exist', () => {
  const known = new Set([...Object.keys(PROBLEMS), 'other'])
  expect(Object.keys(words().coolingNotes).filter(code => !known.has(code))).toEqual([])
})
