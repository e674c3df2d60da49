/** `stampede sale orders`: who ordered what, a page at a time, or all of it as CSV. */

import type { Command } from 'commander'
import type { OrdersAnswer } from '../wire/answers.ts'
import { connectTo, type ServerOptions, withServer } from './client.ts'
import { wholeNumber } from './number.ts'
import { money, print, printJson, table, write } from './table.ts'

interface OrdersOptions extends ServerOptions {
  readonly state?: string
  readonly buyer?: string
  readonly after?: string
  readonly limit?: number
  readonly csv?: boolean
}

export function addSaleOrders(sale: Command): void {
  withServer(
    sale
      .command('orders')
      .description('the orders of a sale')
      .argument('<sale>', 'its id')
      .option('--state <state>', 'reserved (as far as the server that is asked has told it), pending, paid or closed')
      .option('--buyer <buyer>', 'of one buyer')
      .option('--limit <count>', 'at most so many at a time', wholeNumber('--limit'))
      .option('--after <cursor>', 'go on where the last answer ended')
      .option('--csv', 'all of them, as CSV'),
  ).action(async (id: string, options: OrdersOptions) => {
    const client = connectTo(options)
    const query = new URLSearchParams()
    for (const name of ['state', 'buyer', 'limit', 'after'] as const)
      if (options[name] !== undefined) query.set(name, String(options[name]))
    const path = `/api/admin/sales/${encodeURIComponent(id)}/orders?${query}`
    if (options.csv) {
      for await (const text of client.stream(path, { headers: { accept: 'text/csv' } })) await write(text)
      return
    }
    const answer = await client.ask<OrdersAnswer>(path)
    if (options.json) return printJson(answer)
    if (answer.orders.length === 0) return print('no orders')
    await print(
      table(answer.orders, [
        { title: 'order', of: order => order.id },
        { title: 'state', of: order => (order.reason === undefined ? order.state : `${order.state}/${order.reason}`) },
        { title: 'qty', of: order => order.quantity, right: true },
        { title: 'amount', of: order => money(order.amount), right: true },
        { title: 'placed', of: order => order.placedAt },
        { title: 'item', of: order => order.item },
        { title: 'buyer', of: order => order.buyer },
      ]),
    )
    if (answer.next !== null) await print(`more: --after ${answer.next}`)
  })
}
