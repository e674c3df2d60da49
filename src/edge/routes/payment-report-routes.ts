/** Operators and money over all sales. */

import { dayOf } from '../../base/calendar-days.ts'
import { toRfc3339 } from '../../base/clock.ts'
import { toDecimal } from '../../domain/money.ts'
import type { ProviderFigures } from '../../flows/check/provider-health.ts'
import { type DayTakings, reportPayments } from '../../flows/operate/report-payments.ts'
import { paymentCalls } from '../../wire/payments/payment-calls.ts'
import { type PaymentReportAnswer, type ProvidersAnswer, wrongDays } from '../../wire/payments/payment-shapes.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { prefersCsv, sendCsv } from '../http/csv.ts'
import { json, readQuery } from '../http/exchange.ts'
import { bodyInvalid } from '../http/problem-response.ts'

const COLUMNS = ['day', 'zone', 'provider', 'currency', 'captured', 'refunded', 'kept', 'captures', 'refunds']

const handlers = {
  async paymentReport({ money, clock }, exchange) {
    const query = readQuery(exchange, paymentCalls.paymentReport.query)
    const { zone, to = dayOf(clock.now(), zone), from = to } = query
    const wrong = wrongDays(from, to)
    if (wrong !== undefined) throw bodyInvalid('to', `"to": ${wrong}.`)
    const lines = await reportPayments(money, { from, to, zone })
    if (!prefersCsv(exchange.request.headers.get('accept') ?? ''))
      return json({ from, to, zone, lines: [...lines] } satisfies PaymentReportAnswer)
    return sendCsv(
      `payments-${from}-${to}.csv`,
      COLUMNS,
      lines.map(line => csvLine(line, zone)),
    )
  },

  async providers({ health }) {
    return json({ providers: (await health.figures()).map(wireProvider) } satisfies ProvidersAnswer)
  },
} satisfies Handlers<typeof paymentCalls>

export const paymentReportRoutes = (edge: EdgeContext) => routesOf(edge, paymentCalls, handlers)

function wireProvider(figures: ProviderFigures): ProvidersAnswer['providers'][number] {
  const { provider, silent, calls, p50Ms, p99Ms, callbacks, forged, refundsDue, refundsStuck } = figures
  const at = (ms: number) => (ms === 0 ? undefined : toRfc3339(ms))
  return {
    provider,
    silent,
    since: toRfc3339(figures.sinceMs),
    calls,
    p50Ms,
    p99Ms,
    lastSuccessAt: at(figures.succeededAtMs),
    lastFailureAt: at(figures.failedAtMs),
    callbacks,
    forged,
    lastCallbackAt: at(figures.calledBackAtMs),
    lastForgedAt: at(figures.forgedAtMs),
    open: figures.started,
    refundsDue,
    refundsStuck,
  }
}

function csvLine(line: DayTakings, zone: string): readonly string[] {
  const { day, provider, currency, captures, refunds } = line
  const decimal = (amount: number) => toDecimal({ amount, currency })
  const amounts = [line.captured, line.refunded, line.kept].map(decimal)
  return [day, zone, provider, currency, ...amounts, `${captures}`, `${refunds}`]
}
