/**
 * Every refusal of the wire's closed list is answered by some call and has its entry in the runbook; one that a buyer can get has its text in two languages on
 * the page, too. A new code fails here until all of it is written.
 */

import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { problemsOf } from '../../src/wire/call.ts'
import { ALL_CALLS } from '../../src/wire/calls/all-calls.ts'
import { PROBLEM_CODES, PROBLEMS, type ProblemCode } from '../../src/wire/problems.ts'

// The page's modules read the browser's language when they are loaded, and later tests of this process must not find it changed.
const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator')
Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { languages: ['en'], onLine: true } })
const { switchLanguage, words } = await import('../../web/buyer/words.ts')
const { paymentWords } = await import('../../web/buyer/words/payment.ts')
const { contactWords } = await import('../../web/buyer/words/contact.ts')
const { lineWords } = await import('../../web/buyer/line/line-words.ts')

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
  claim_required: () => lineWords(words().locale).refused.claim_required,
  claim_used: () => lineWords(words().locale).refused.claim_used,
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

/** Answered wherever there is an address, and so said of no call. */
const OF_EVERY_ADDRESS: readonly ProblemCode[] = ['method_not_allowed']

test('each is what some call answers', () => {
  const answered = new Set([...ALL_CALLS.flatMap(call => problemsOf(call)), ...OF_EVERY_ADDRESS])
  expect(PROBLEM_CODES.filter(code => !answered.has(code))).toEqual([])
  expect([...answered].filter(code => !PROBLEM_CODES.includes(code))).toEqual([])
})

const runbook = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8')
const rowsOf = (entry: string) => {
  const part = runbook.split(`### ${entry}\n`)[1]?.split('\n### ')[0] ?? ''
  return [...part.matchAll(/^\| `([a-z_]+)` \| (.+) \| (.+) \|$/gm)].map(([, code = '', look = '', act = '']) => ({
    code,
    look,
    act,
  }))
}

test('there is an entry for each in the runbook, and none twice or for a refusal that does not exist', () => {
  const [buyers, others] = [rowsOf('What buyers are told'), rowsOf('What shops and operators are told')]
  const codes = [...buyers, ...others].map(row => row.code)
  expect(
    PROBLEM_CODES.filter(code => !codes.includes(code)),
    'add a row',
  ).toEqual([])
  expect(codes.filter((code, at) => !Object.hasOwn(PROBLEMS, code) || codes.indexOf(code) !== at)).toEqual([])
  expect([...buyers, ...others].filter(({ look, act }) => look.trim() === '' || act.trim() === '')).toEqual([])
  expect([...CODES].filter(code => !buyers.some(row => row.code === code))).toEqual([])
})

test('each has what it is, what it means and what to do in the catalogue', () => {
  const texts = PROBLEM_CODES.flatMap(code => [PROBLEMS[code].title, PROBLEMS[code].means, PROBLEMS[code].todo])
  expect(texts.filter(text => !/^\S.+\S$/.test(text))).toEqual([])
})

test('the page looks up refusals by codes that exist', () => {
  const known = new Set([...Object.keys(PROBLEMS), 'other'])
  expect(Object.keys(words().coolingNotes).filter(code => !known.has(code))).toEqual([])
})
