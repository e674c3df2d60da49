/** `stampede order …`: one order with its payments and history; cancel it, or give the money back. */

import type { Command } from 'commander'
import type { WholeOrderAnswer } from '../wire/answers.ts'
import { connectTo, type ServerOptions, withServer } from './client.ts'
import { card, money, print, printJson, table } from './table.ts'

export function addOrder(program: Command): void {
  const order = program.command('order').description('one order, on a running server')
  const at = (id: string) => `/api/admin/orders/${encodeURIComponent(id)}`
  withServer(
    order.command('show').description('an order with its payments and history').argument('<order>', 'its id'),
  ).action(async (id: string, options: ServerOptions) =>
    printOrder(await connectTo(options).ask<WholeOrderAnswer>(at(id)), options),
  )
  withServer(
    order
      .command('cancel')
      .description('close an order that is not paid; its units are on sale again')
      .argument('<order>', 'its id'),
  ).action(async (id: string, options: ServerOptions) =>
    printOrder(await connectTo(options).ask<WholeOrderAnswer>(`${at(id)}/cancel`, { method: 'POST' }), options),
  )
  withServer(
    order
      .command('refund')
      .description('give the money of a paid order back')
      .argument('<order>', 'its id')
      .option('--restock', 'put its units on sale again'),
  ).action(async (id: string, options: ServerOptions & { restock?: boolean }) => {
    const body = { restock: options.restock ?? false }
    await printOrder(
      await connectTo(options).ask<WholeOrderAnswer>(`${at(id)}/refund`, { method: 'POST', body }),
      options,
    )
  })
}

async function printOrder(order: WholeOrderAnswer, { json }: ServerOptions): Promise<void> {
  if (json) return printJson(order)
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
  await print([head, ...(order.payments.length > 0 ? [payments] : []), history].join('\n'))
}
