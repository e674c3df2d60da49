/** The calls about money over all sales. */

import { type Call, callsForOperators, json } from '../call.ts'
import { AT } from '../calls/examples.ts'
import { paymentReportAnswer, paymentReportQuery, providersAnswer, REPORT_DAYS_MAX } from './payment-shapes.ts'

const viewers = callsForOperators('Operators', 'viewer')

const LINE = {
  day: '2026-11-13',
  provider: 'stripe',
  currency: 'EUR',
  captured: 1_999_000,
  refunded: 19_990,
  kept: 1_979_010,
  captures: 1_000,
  refunds: 10,
}

const OUTCOMES = { ok: 12, refused: 0, unreachable: 1 }
const PROVIDER = {
  provider: 'stripe',
  silent: false,
  since: AT,
  calls: { start: OUTCOMES, query: OUTCOMES, cancel: OUTCOMES, refund: OUTCOMES },
  p50Ms: 180,
  p99Ms: 900,
  lastSuccessAt: AT,
  callbacks: 10,
  forged: 0,
  lastCallbackAt: AT,
  open: 3,
  refundsDue: 1,
  refundsStuck: 0,
}

export const paymentCalls = {
  paymentReport: viewers.get('/api/admin/payments/report', 'What was captured, refunded and kept, by day', {
    more:
      `Per provider and currency, at most ${REPORT_DAYS_MAX} days, in UTC unless a zone is given. With Accept: text/csv as CSV, with amounts in ` +
      'decimals of their currency. Sales that were deleted do not count.',
    takes: ['Accept'],
    query: paymentReportQuery,
    answers: {
      200: {
        ...json('The report.', paymentReportAnswer, { from: LINE.day, to: LINE.day, zone: 'UTC', lines: [LINE] }),
        texts: ['text/csv'],
      },
    },
  }),
  providers: viewers.get('/api/admin/payments/providers', 'How each payment provider answers', {
    answers: { 200: json('Each provider.', providersAnswer, { providers: [PROVIDER] }) },
  }),
} satisfies Record<string, Call>
