/**
 * What each provider took, gave back and kept, by days. Read a week at a time: placing waits for a week's payments at most, and a report of
 * months does not run into the ledger's time limit.
 */

import { dayAfter, dayBegins, daysBetween } from '../../base/calendar-days.ts'
import type { Refunds } from '../../ledger/refunds.ts'

const DAYS_AT_ONCE = 7

export interface DayTakings {
  readonly day: string
  readonly provider: string
  readonly currency: string
  /** In minor units. `kept` is negative on a day that gave back more than it took. */
  readonly captured: number
  readonly refunded: number
  readonly kept: number
  readonly captures: number
  readonly refunds: number
}

/** Days without money are left out. */
export async function reportPayments(
  { refunds }: { readonly refunds: Pick<Refunds, 'takings'> },
  { from, to, zone }: { readonly from: string; readonly to: string; readonly zone: string },
): Promise<readonly DayTakings[]> {
  const found: DayTakings[] = []
  const days = Array.from({ length: daysBetween(from, to) }, (_, i) => dayAfter(from, i))
  for (let i = 0; i < days.length; i += DAYS_AT_ONCE) {
    const some = days.slice(i, i + DAYS_AT_ONCE)
    const bounds = [...some, dayAfter(some.at(-1)!, 1)].map(day => dayBegins(day, zone))
    for (const { span, ...takings } of await refunds.takings(bounds))
      found.push({ day: some[span]!, ...takings, kept: takings.captured - takings.refunded })
  }
  return found
}
