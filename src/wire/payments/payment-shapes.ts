/** What operators read about money: what providers took and kept, by days, and how each of them answers. */

import { z } from 'zod'
import { daysBetween, isDay } from '../../base/calendar-days.ts'
import { plainTime } from '../answers.ts'
import { timeZone } from '../time-zone.ts'

export const REPORT_DAYS_MAX = 93

const day = z.string().refine(isDay, 'must be a day like 2026-11-18').meta({ format: 'date' })

export const paymentReportQuery = z.object({
  from: day.optional().describe('The first day; missing: the last one.'),
  to: day.optional().describe('The last day, included; missing: today.'),
  zone: timeZone.default('UTC').describe('Whose days: a name of the IANA database.'),
})

/** What is wrong with the days, or undefined. */
export function wrongDays(from: string, to: string): string | undefined {
  const days = daysBetween(from, to)
  if (days < 1) return 'must not lie before "from"'
  return days > REPORT_DAYS_MAX ? `must lie within ${REPORT_DAYS_MAX} days of "from"` : undefined
}

const minor = z.int().describe('Minor units.')
const times = z.int().min(0)

export const paymentReportAnswer = z.object({
  from: day,
  to: day,
  zone: z.string(),
  lines: z
    .array(
      z
        .object({
          day,
          provider: z.string(),
          currency: z.string(),
          captured: minor,
          refunded: minor.describe('Confirmed by the provider on this day, parts too, whenever it was captured.'),
          kept: minor.describe('captured − refunded; negative on a day that gave back more than it took.'),
          captures: times,
          refunds: times,
        })
        .meta({ id: 'PaymentReportLine' }),
    )
    .describe('By day, provider and currency. Days without money are left out.'),
})

const outcomes = z.object({ ok: times, refused: times, unreachable: times.describe('No answer in time.') })
const at = plainTime.optional()

export const providersAnswer = z
  .object({
    providers: z.array(
      z
        .object({
          provider: z.string(),
          silent: z.boolean().describe('The last calls got no answer.'),
          since: plainTime.describe('The counts begin here.'),
          calls: z.object({ start: outcomes, query: outcomes, cancel: outcomes, refund: outcomes }),
          p50Ms: z.number().min(0).describe('Of the last 100 answers, at the process where it took longest.'),
          p99Ms: z.number().min(0),
          lastSuccessAt: at,
          lastFailureAt: at.describe('A call without an answer.'),
          callbacks: times,
          forged: times.describe('Callbacks whose signature does not fit.'),
          lastCallbackAt: at,
          lastForgedAt: at,
          open: times.describe('Payments whose outcome is not known yet.'),
          refundsDue: times.describe('Refunds and parts of them that are not confirmed.'),
          refundsStuck: times.describe('Those of them that were tried more often than usual.'),
        })
        .meta({ id: 'ProviderHealth' }),
    ),
  })
  .describe('Over all processes; those of other processes are a few seconds old.')

export type ProvidersAnswer = z.infer<typeof providersAnswer>
export type PaymentReportAnswer = z.infer<typeof paymentReportAnswer>
