/** `stampede explain ORDER`: what happened to an order, by whom, and how long each step took. */

import type { Command } from 'commander'
import type { OrderStoryAnswer } from '../../wire/order-story.ts'
import { card, money, print, printJson, table } from '../table.ts'
import { Client, type ServerOptions, withServer } from './client.ts'

export function addExplain(program: Command): void {
  const command = program
    .command('explain')
    .description("an order's whole story: what happened, by whom, how long it took")
  withServer(command.argument('<order>', 'its id')).action(explainOrder)
}

async function explainOrder(id: string, options: ServerOptions): Promise<void> {
  const path = `/api/admin/orders/${encodeURIComponent(id)}/story`
  const answer = await new Client(options).ask<OrderStoryAnswer>(path)
  if (options.json) return printJson(answer)
  const { order, epoch, itemEpoch, trace, story } = answer
  const head = card([
    ['order', order.id],
    ['state', order.reason === undefined ? order.state : `${order.state}/${order.reason}`],
    ['superseded by', order.supersededBy],
    ['buyer', order.buyer],
    ['sale', order.sale],
    ['item', order.item],
    ['amount', money(order.amount)],
    ['epoch', epoch === itemEpoch ? epoch : `${epoch ?? '-'}, the item's is ${itemEpoch ?? 'not known'} now`],
    ['trace', trace],
    ['pay by', order.state === 'pending' ? order.payBy : undefined],
  ])
  const lines = table(story, [
    { title: 'at', of: step => step.at },
    { title: 'what', of: step => step.what },
    { title: 'by', of: step => step.by },
    { title: 'took', of: step => (step.tookMs === undefined ? undefined : duration(step.tookMs)), right: true },
    { title: 'since', of: step => step.after },
    { title: 'in words', of: step => step.text },
  ])
  return print(`${head}\n${lines}`)
}

function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`
}
