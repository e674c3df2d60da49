/** `stampede order …`: one order with its payments and history; cancel it, or refund it. */

import type { Command } from 'commander'
import type { WholeOrderAnswer } from '../../wire/answers.ts'
import { card, money, print, printJson, table } from '../table.ts'
import { Client, type ServerOptions, withServer } from './client.ts'

type OrderOptions = ServerOptions & { readonly restock?: boolean }

export function addOrder(program: Command): void {
  const order = program.command('order').description('one order, on a running server')
  const add = (name: string, description: string) =>
    withServer(order.command(name).description(description).argument('<order>', 'its id'))
  add('show', 'an order with its payments and history').action((id: string, options: OrderOptions) => run(id, options))
  add('cancel', 'close an order that is not paid; its units are on sale again').action(
    (id: string, options: OrderOptions) => run(id, options, '/cancel'),
  )
  add('refund', 'refund a paid order')
    .option('--restock', 'put its units on sale again')
    .action((id: string, options: OrderOptions) => run(id, options, '/refund', { restock: options.restock ?? false }))
}

async function run(id: string, options: OrderOptions, move = '', body?: unknown): Promise<void> {
  const path = `/api/admin/orders/${encodeURIComponent(id)}${move}`
  const ask = move === '' ? {} : { method: 'POST' as const, body }
  const order = await new Client(options).ask<WholeOrderAnswer>(path, ask)
  if (options.json) return printJson(order)
  const head = card([
    ['order', order.id],
    ['state', order.reason === undefined ? order.state : `${order.state}/${order.reason}`],
    ['buyer', order.buyer],
    ['sale', order.sale],
    ['item', order.item],
    ['quantity', order.quantity],
    ['amount', money(order.amount)],
    ['attempt', order.attempt],
    ['placed', order.placedAt],
    ['pay by', order.state === 'pending' ? order.payBy : undefined],
  ])
  const payments = table(order.payments, [
    { title: 'payment', of: payment => payment.id },
    { title: 'provider', of: payment => payment.provider },
    { title: 'state', of: payment => payment.state },
    { title: 'amount', of: payment => money(payment.amount), right: true },
    { title: 'started', of: payment => payment.startedAt },
  ])
  const history = table(order.history, [
    { title: 'at', of: event => event.at },
    { title: 'what', of: event => event.what },
    { title: 'by', of: event => event.by },
  ])
  return print([head, ...(order.payments.length > 0 ? [payments] : []), history].join('\n'))
}
