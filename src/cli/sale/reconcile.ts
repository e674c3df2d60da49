/** `stampede reconcile`: compares gate, ledger and payments now and repairs what differs, for one sale or for all that are published. */

import type { Command } from 'commander'
import type { OperatorSalesAnswer, ReportAnswer } from '../../wire/answers.ts'
import { print, printJson } from '../table.ts'
import { Client, type ServerOptions, saleAt, withServer } from './client.ts'

export function addReconcile(program: Command): void {
  withServer(
    program
      .command('reconcile')
      .description('compare gate, ledger and payments now, and repair what differs')
      .argument('[sale]', 'its id; without one, every published sale'),
  ).action(async (id: string | undefined, options: ServerOptions) => {
    const client = new Client(options)
    const reports: ({ sale: string } & ReportAnswer)[] = []
    for (const sale of id === undefined ? await publishedSales(client) : [id])
      reports.push({ sale, ...(await client.ask<ReportAnswer>(`${saleAt(sale)}/reconcile`, { method: 'POST' })) })
    if (options.json) return printJson(id === undefined ? { reports } : reports[0])
    if (reports.length === 0) return print('no published sales')
    for (const { sale, differences, repairs } of reports) {
      await print(
        differences.length === 0 ? `sale ${sale}: all is well` : `sale ${sale}: ${differences.length} differences`,
      )
      for (const difference of differences) await print(`  found     ${JSON.stringify(difference)}`)
      for (const repair of repairs) await print(`  repaired  ${JSON.stringify(repair)}`)
    }
  })
}

async function publishedSales(client: Client): Promise<string[]> {
  const { sales } = await client.ask<OperatorSalesAnswer>('/api/admin/sales')
  return sales.filter(sale => sale.state !== 'draft').map(sale => sale.id)
}
