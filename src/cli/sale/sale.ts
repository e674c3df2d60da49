/** `stampede sale …`: create sales and run them, on a running server. */

import type { Command } from 'commander'
import { ConfigError } from '../../app/config/config.ts'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import type { AuditsAnswer, OperatorSaleAnswer, OperatorSalesAnswer, StockChangeAnswer } from '../../wire/answers.ts'
import { wholeNumber } from '../arguments.ts'
import { addSaleImport } from '../import/sale-import.ts'
import { card, print, printJson, table } from '../table.ts'
import { Client, type ServerOptions, saleAt, withServer } from './client.ts'
import { addSaleCreate } from './sale-create.ts'
import { addSaleOrders } from './sale-orders.ts'
import { printSale } from './sale-view.ts'

/** Commands that take the sale's id and print the sale; all but `show` change it. */
const MOVES = {
  show: 'one sale with its items',
  publish: 'publish a draft: it opens by itself at its time',
  warm: 'prepare it now: the gate is loaded and verified',
  pause: 'sell nothing until it is resumed',
  resume: 'go on after a pause',
  end: 'end it at once, for good',
} as const

export function addSale(program: Command): void {
  const sale = program.command('sale').description('create sales and run them, on a running server')
  addSaleCreate(sale)
  addSaleImport(sale)
  addList(sale)
  for (const [move, description] of Object.entries(MOVES)) {
    withServer(sale.command(move).description(description).argument('<sale>', 'its id')).action(
      async (id: string, options: ServerOptions) => {
        const path = move === 'show' ? saleAt(id) : `${saleAt(id)}/${move}`
        const method = move === 'show' ? 'GET' : 'POST'
        await printSale(await new Client(options).ask<OperatorSaleAnswer>(path, { method }), options)
      },
    )
  }
  addStock(sale)
  addSaleOrders(sale)
  addAudit(sale)
}

function addList(sale: Command): void {
  withServer(sale.command('list').description('all sales, drafts too')).action(async (options: ServerOptions) => {
    const answer = await new Client(options).ask<OperatorSalesAnswer>('/api/admin/sales')
    if (options.json) return printJson(answer)
    if (answer.sales.length === 0) return print('no sales yet: make one with "stampede sale create"')
    const sum = (one: OperatorSaleAnswer, of: 'units' | 'left') =>
      one.items.reduce((total, item) => total + item[of], 0)
    return print(
      table(answer.sales, [
        { title: 'id', of: one => one.id },
        { title: 'state', of: one => one.state },
        { title: 'opens', of: one => one.opensAt },
        { title: 'closes', of: one => one.closesAt },
        { title: 'items', of: one => one.items.length, right: true },
        { title: 'left', of: one => sum(one, 'left'), right: true },
        { title: 'units', of: one => sum(one, 'units'), right: true },
        { title: 'name', of: one => one.name },
      ]),
    )
  })
}

interface StockOptions extends ServerOptions {
  readonly item?: string
  readonly delta: number
  readonly reason: string
  readonly key?: string
}

function addStock(sale: Command): void {
  withServer(
    sale
      .command('stock')
      .description('put more units on sale, or take some off')
      .argument('<sale>', 'its id')
      .requiredOption('--delta <units>', 'how many more, or fewer: 100, -30', wholeNumber('--delta'))
      .requiredOption('--reason <text>', 'for the log')
      .option('--item <item>', 'which item; not needed when there is only one')
      .option('--key <key>', 'the same key again makes no second change'),
  ).action(async (id: string, options: StockOptions) => {
    const client = new Client(options)
    const item = options.item ?? (await onlyItem(client, id))
    const key = options.key ?? Buffer.from(systemRandom.bytes(12)).toString('hex')
    const path = `${saleAt(id)}/items/${encodeURIComponent(item)}/stock`
    const body = { delta: options.delta, reason: options.reason }
    const change = await client
      .ask<StockChangeAnswer>(path, { method: 'POST', body, headers: { 'idempotency-key': key } })
      .catch(error => {
        if (!(error instanceof Fault) || !error.retryable) throw error
        throw new Fault(
          error.code,
          `${error.message}; ask again with --key ${key} to find out whether it was done: it is not done twice`,
        )
      })
    if (options.json) return printJson(change)
    await print(
      card([
        ['change', change.no],
        ['asked', change.delta],
        ['done', change.taken],
        ['shortfall', change.shortfall],
      ]),
    )
  })
}

async function onlyItem(client: Client, sale: string): Promise<string> {
  const { items } = await client.ask<OperatorSaleAnswer>(saleAt(sale))
  const [first] = items
  if (first === undefined || items.length > 1)
    throw new ConfigError(
      `the sale has ${items.length} items: name one with --item (${items.map(item => item.id).join(', ')})`,
    )
  return first.id
}

function addAudit(sale: Command): void {
  withServer(
    sale
      .command('audit')
      .description('units by state in ledger and gate; exit code 1 when they do not add up')
      .argument('<sale>', 'its id'),
  ).action(async (id: string, options: ServerOptions) => {
    const answer = await new Client(options).ask<AuditsAnswer>(`${saleAt(id)}/audit`)
    if (options.json) await printJson(answer)
    else
      await print(
        table(answer.items, [
          { title: 'item', of: line => line.item },
          { title: 'units', of: line => line.units, right: true },
          { title: 'available', of: line => line.available, right: true },
          { title: 'pending', of: line => line.pending, right: true },
          { title: 'paid', of: line => line.paid, right: true },
          { title: 'closed', of: line => line.closed, right: true },
          { title: 'left', of: line => line.gate?.left, right: true },
          { title: 'outbox', of: line => line.outbox, right: true },
          { title: 'releases', of: line => line.releases, right: true },
          { title: 'door', of: line => line.door },
          { title: 'epoch', of: line => line.epoch, right: true },
          { title: 'adds up', of: line => (line.consistent ? 'yes' : 'NO') },
        ]),
      )
    const wrong = answer.items.filter(line => !line.consistent)
    if (wrong.length > 0)
      throw new Fault(
        'inconsistent',
        `${wrong.length} of ${answer.items.length} items do not add up: run "stampede reconcile ${id}"`,
      )
  })
}
