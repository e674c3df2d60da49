/** Operators and money over all sales. */

import { dayOf } from '../../base/calendar-days.ts'
import { toDecimal } from '../../domain/money.ts'
import { type DayTakings, reportPayments } from '../../flows/operate/report-payments.ts'
import { paymentCalls } from '../../wire/payments/payment-calls.ts'
import { type PaymentReportAnswer, wrongDays } from '../../wire/payments/payment-shapes.ts'
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
} satisfies Handlers<typeof paymentCalls>

export const paymentReportRoutes = (edge: EdgeContext) => routesOf(edge, paymentCalls, handlers)

function csvLine(line: DayTakings, zone: string): readonly string[] {
  const { day, provider, currency, captures, refunds } = line
  const decimal = (amount: number) => toDecimal({ amount, currency })
  const amounts = [line.captured, line.refunded, line.kept].map(decimal)
  return [day, zone, provider, currency, ...amounts, `${captures}`, `${refunds}`]
}
