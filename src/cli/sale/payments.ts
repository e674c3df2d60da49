/** `stampede payments report`: what each provider took, gave back and kept, by days, on a running server. */

import type { Command } from 'commander'
import { toDecimal } from '../../domain/money.ts'
import type { PaymentReportAnswer } from '../../wire/payments/payment-shapes.ts'
import { print, printJson, table } from '../table.ts'
import { Client, type ServerOptions, withServer } from './client.ts'

type ReportOptions = ServerOptions & {
  readonly from?: string
  readonly to?: string
  readonly zone?: string
  readonly csv?: boolean
}

export function addPayments(program: Command): void {
  const payments = program.command('payments').description('money over all sales, on a running server')
  withServer(
    payments
      .command('report')
      .description('what was captured, refunded and kept, per provider, currency and day')
      .option('--from <day>', 'the first day, like 2026-11-01 (default: the last)')
      .option('--to <day>', 'the last day, included (default: today)')
      .option('--zone <zone>', 'whose days, like Asia/Shanghai (default: UTC)')
      .option('--csv', 'print CSV'),
  ).action(report)
}

async function report({ from, to, zone, csv, ...options }: ReportOptions): Promise<void> {
  const asked = Object.entries({ from, to, zone }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  )
  const path = `/api/admin/payments/report?${new URLSearchParams(asked)}`
  const client = new Client(options)
  if (csv) {
    let text = ''
    for await (const chunk of client.stream(path, { headers: { accept: 'text/csv' } })) text += chunk
    return print(text.trimEnd())
  }
  const answer = await client.ask<PaymentReportAnswer>(path)
  if (options.json) return printJson(answer)
  if (answer.lines.length === 0) return print(`no money from ${answer.from} to ${answer.to} (${answer.zone})`)
  await print(
    table(answer.lines, [
      { title: `day (${answer.zone})`, of: line => line.day },
      { title: 'provider', of: line => line.provider },
      { title: 'currency', of: line => line.currency },
      ...(['captured', 'refunded', 'kept'] as const).map(what => ({
        title: what,
        of: (line: PaymentReportAnswer['lines'][number]) => toDecimal({ amount: line[what], currency: line.currency }),
        right: true,
      })),
      { title: 'captures', of: line => line.captures, right: true },
      { title: 'refunds', of: line => line.refunds, right: true },
    ]),
  )
}
