/** `stampede order …`: orders over all sales (`order-list.ts`); one order with its payments and history; cancel it, or refund it, whole or in part. */

import type { Command } from 'commander'
import { ConfigError } from '../../app/config/config.ts'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import { fromDecimal, type Money, toDecimal } from '../../domain/money.ts'
import type { WholeOrderAnswer } from '../../wire/answers.ts'
import { card, money, print, printJson, table } from '../table.ts'
import { Client, type ServerOptions, withServer } from './client.ts'
import { addOrderList } from './order-list.ts'

type OrderOptions = ServerOptions
type RefundOptions = ServerOptions & {
  readonly restock?: boolean
  readonly amount?: string
  readonly reason?: string
  readonly key?: string
}

export function addOrder(program: Command): void {
  const order = program.command('order').description('orders, on a running server')
  addOrderList(order)
  const add = (name: string, description: string) =>
    withServer(order.command(name).description(description).argument('<order>', 'its id'))
  add('show', 'an order with its payments and history').action((id: string, options: OrderOptions) => run(id, options))
  add('cancel', 'close an order that is not paid; its units are on sale again').action(
    (id: string, options: OrderOptions) => run(id, options, '/cancel'),
  )
  add('refund', 'refund a paid order, or a part of it')
    .option('--restock', 'put its units on sale again; only with all of it')
    .option('--amount <amount>', 'give back only so much, in decimals of the currency; the order stays paid')
    .option('--reason <text>', 'why, for the log and the history of the order')
    .option('--key <key>', 'the same key again gives nothing back a second time')
    .action(refund)
}

async function refund(id: string, options: RefundOptions): Promise<void> {
  const { restock = false, reason, amount: typed } = options
  const amount = typed === undefined ? undefined : await amountOf(id, options, typed)
  const body = { restock, ...(amount !== undefined && { amount }), ...(reason !== undefined && { reason }) }
  const key = options.key ?? Buffer.from(systemRandom.bytes(12)).toString('hex')
  try {
    await run(id, options, '/refund', body, { 'idempotency-key': key })
  } catch (error) {
    if (!(error instanceof Fault) || !error.retryable) throw error
    const again = `${error.message}; ask again with --key ${key} to find out whether it was done: it is not done twice`
    throw new Fault(error.code, again, { retryable: true, outcomeUnknown: true, cause: error })
  }
}

/** The currency is the order's. */
async function amountOf(id: string, options: RefundOptions, typed: string): Promise<Money> {
  const { currency } = (await new Client(options).ask<WholeOrderAnswer>(pathOf(id))).amount
  const amount = fromDecimal(typed, currency)
  if (amount === undefined || !Number.isSafeInteger(amount) || amount < 1)
    throw new ConfigError(
      `--amount: "${typed}" is not an amount of ${currency}: write it like ${toDecimal({ amount: 1250, currency })}`,
    )
  return { amount, currency }
}

const pathOf = (id: string) => `/api/admin/orders/${encodeURIComponent(id)}`

async function run(
  id: string,
  options: OrderOptions,
  move = '',
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const ask = move === '' ? {} : { method: 'POST' as const, body, headers }
  const order = await new Client(options).ask<WholeOrderAnswer>(`${pathOf(id)}${move}`, ask)
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
  const refunds = table(
    order.payments.flatMap(payment => payment.refunds ?? []),
    [
      { title: 'refund of a part', of: part => part.id },
      { title: 'state', of: part => part.state },
      { title: 'amount', of: part => money(part.amount), right: true },
      { title: 'asked', of: part => part.askedAt },
      { title: 'by', of: part => part.by },
      { title: 'reason', of: part => part.reason },
    ],
  )
  const history = table(order.history, [
    { title: 'at', of: event => event.at },
    { title: 'what', of: event => event.what },
    { title: 'by', of: event => event.by },
    { title: 'amount', of: event => event.amount && money(event.amount), right: true },
    { title: 'reason', of: event => event.reason },
  ])
  const hasParts = order.payments.some(payment => payment.refunds !== undefined)
  const shown = [head, ...(order.payments.length > 0 ? [payments] : []), ...(hasParts ? [refunds] : []), history]
  return print(shown.join('\n'))
}
