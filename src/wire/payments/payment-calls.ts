/** The calls about money over all sales. */

import { type Call, callsForOperators, json } from '../call.ts'
import { paymentReportAnswer, paymentReportQuery, REPORT_DAYS_MAX } from './payment-shapes.ts'

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
} satisfies Record<string, Call>
