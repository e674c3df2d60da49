/** `stampede order list`: orders over all sales, newest first, or those that changed since a time. */

import type { Command } from 'commander'
import type { FoundOrdersAnswer } from '../../wire/orders/found-orders.ts'
import { wholeNumber } from '../arguments.ts'
import { print, printJson } from '../table.ts'
import { Client, type ServerOptions, withServer } from './client.ts'
import { ordersTable } from './sale-orders.ts'

const FILTERS = ['updatedAfter', 'q', 'sale', 'state', 'limit', 'after'] as const
type ListOptions = ServerOptions & { readonly [F in (typeof FILTERS)[number]]?: string | number }

export function addOrderList(order: Command): void {
  withServer(
    order
      .command('list')
      .description('orders over all sales, newest first')
      .option('--q <text>', 'the id of an order, or a buyer')
      .option('--sale <sale>', 'of one sale')
      .option('--state <state>', 'pending, paid or closed')
      .option('--updated-after <time>', 'those that changed since (2026-11-11T00:00:00Z), the oldest change first')
      .option('--limit <count>', 'at most so many at a time', wholeNumber('--limit'))
      .option('--after <cursor>', 'continue after the last page'),
  ).action(async (options: ListOptions) => {
    const given = FILTERS.filter(name => options[name] !== undefined).map(name => [name, String(options[name])])
    const answer = await new Client(options).ask<FoundOrdersAnswer>(`/api/admin/orders?${new URLSearchParams(given)}`)
    if (options.json) return printJson(answer)
    const { orders, next, total, totalIsExact } = answer
    await print(orders.length === 0 ? 'no orders' : ordersTable(orders))
    await print(`${orders.length} of ${total}${totalIsExact ? '' : ' or more'}`)
    if (next !== null) await print(`more: --after ${next}`)
  })
}
