/** What operators read about money: what providers took and kept, by days. */

import { z } from 'zod'
import { daysBetween, isDay, isTimeZone } from '../../base/calendar-days.ts'

export const REPORT_DAYS_MAX = 93

const day = z.string().refine(isDay, 'must be a day like 2026-11-18').meta({ format: 'date' })

export const paymentReportQuery = z.object({
  from: day.optional().describe('The first day; missing: the last one.'),
  to: day.optional().describe('The last day, included; missing: today.'),
  zone: z
    .string()
    .max(64)
    .refine(isTimeZone, 'must be a time zone like Asia/Shanghai')
    .default('UTC')
    .describe('Whose days: a name of the IANA database.'),
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

export type PaymentReportAnswer = z.infer<typeof paymentReportAnswer>
