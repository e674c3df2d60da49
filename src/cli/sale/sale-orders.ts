/** `stampede sale orders`: the orders of a sale, a page at a time, or all of them as CSV. */

import { type Command, Option } from 'commander'
import type { OrderAnswer, OrdersAnswer } from '../../wire/answers.ts'
import { wholeNumber } from '../arguments.ts'
import { money, print, printJson, table, write } from '../table.ts'
import { Client, type ServerOptions, saleAt, withServer } from './client.ts'

const FILTERS = ['state', 'buyer', 'limit', 'after'] as const
const LANGUAGES = ['en', 'zh'] as const
type OrdersOptions = ServerOptions & { readonly [F in (typeof FILTERS)[number]]?: string } & {
  readonly csv?: boolean
  readonly sheet?: boolean
  readonly zone?: string
  readonly language?: string
}

export function addSaleOrders(sale: Command): void {
  withServer(
    sale
      .command('orders')
      .description('the orders of a sale')
      .argument('<sale>', 'its id')
      .option('--state <state>', 'pending, paid, closed, or reserved (those that this very server has acknowledged)')
      .option('--buyer <buyer>', 'of one buyer')
      .option('--limit <count>', 'at most so many at a time', wholeNumber('--limit'))
      .option('--after <cursor>', 'continue after the last page')
      .option('--csv', 'all of them, as CSV for programs')
      .option('--sheet', 'all of them, as CSV for a spreadsheet: names, SKUs, amounts and times as people write them')
      .option('--zone <zone>', 'of the times in --sheet (default: UTC), as in Asia/Shanghai')
      .addOption(new Option('--language <language>', 'of the headings in --sheet').choices(LANGUAGES)),
  ).action(async (id: string, options: OrdersOptions) => {
    const client = new Client(options)
    const given = FILTERS.filter(name => options[name] !== undefined).map(name => [name, String(options[name])])
    const query = new URLSearchParams(given)
    if (options.sheet) {
      query.set('layout', 'people')
      query.set('zone', options.zone ?? 'UTC')
      query.set('language', options.language ?? 'en')
    }
    const path = `${saleAt(id)}/orders?${query}`
    if (options.csv || options.sheet) {
      for await (const text of client.stream(path, { headers: { accept: 'text/csv' } })) await write(text)
      return
    }
    const answer = await client.ask<OrdersAnswer>(path)
    if (options.json) return printJson(answer)
    if (answer.orders.length === 0) return print('no orders')
    await print(ordersTable(answer.orders))
    if (answer.next !== null) await print(`more: --after ${answer.next}`)
  })
}

export function ordersTable(orders: readonly (OrderAnswer & { readonly updatedAt?: string | undefined })[]): string {
  const changes = orders.some(({ updatedAt }) => updatedAt !== undefined)
  return table(orders, [
    { title: 'order', of: order => order.id },
    { title: 'state', of: order => (order.reason === undefined ? order.state : `${order.state}/${order.reason}`) },
    { title: 'qty', of: order => order.quantity, right: true },
    { title: 'amount', of: order => money(order.amount), right: true },
    changes ? { title: 'changed', of: order => order.updatedAt } : { title: 'placed', of: order => order.placedAt },
    { title: 'item', of: order => order.item },
    { title: 'buyer', of: order => order.buyer },
  ])
}
