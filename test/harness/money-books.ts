/**
 * The books of a test with money in it: the ledger's own tables, read past the server, and the payment house's file, which knows
 * nothing of orders. Both sides are compared; neither is believed.
 */

import { expect } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import type { PaymentFacts } from '../../src/domain/promises/snapshot.ts'
import { connectionTo } from '../../src/ledger/embedded/postmaster.ts'
import { atMost } from './crowd.ts'
import type { Till } from './money.ts'
import type { Shop } from './shop.ts'
import { until } from './until.ts'

/** The line of postmaster.pid that holds the socket's folder. */
const SOCKET_LINE = 4
const WIDTH = 40

interface HousePayment {
  readonly ref: string
  readonly state: 'open' | 'captured' | 'void' | 'refunded'
  readonly captured?: { readonly amount: { readonly amount: number } }
  readonly parts?: readonly { readonly key: string; readonly amount: number; readonly state: string }[]
}

/** One statement on the embedded PostgreSQL of a data folder, behind the server's back. */
export async function sql(
  dataDir: string,
  statement: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const pid = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')
  const client = new Client(connectionTo(pid.split('\n')[SOCKET_LINE]?.trim() ?? ''))
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(statement, values)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

/** Every payment as the house has it: the last line of each counts; one that is torn was never answered. */
export function housePayments(dataDir: string): ReadonlyMap<string, HousePayment> {
  const file = join(dataDir, 'sandbox-payments.jsonl')
  // Where another provider is configured there is none.
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  return new Map(lines.map(line => JSON.parse(line) as HousePayment).map(payment => [payment.ref, payment]))
}

const sumOf = (parts: readonly number[]) => parts.reduce((sum, part) => sum + part, 0)

/** Waits until nothing about orders and money is under way: what is not settled by then is stuck. */
export async function untilSettled(dataDir: string, limitMs = 120_000): Promise<void> {
  const open = `SELECT (SELECT count(*) FROM orders WHERE state = 'pending' AND pay_by <= clock_timestamp())
    + (SELECT count(*) FROM releases) + (SELECT count(*) FROM stock_changes WHERE state <> 'done')
    + (SELECT count(*) FROM payments p WHERE p.state = 'refund_due')
    + (SELECT count(*) FROM refund_parts WHERE state = 'due') AS open`
  await until(
    'orders closed, units released, changes and refunds done',
    async () => {
      const [row] = await sql(dataDir, open)
      return row?.open === '0' && !(await moneyUnheard(dataDir))
    },
    limitMs,
  )
}

/** The house has taken money that the ledger does not know of yet. */
async function moneyUnheard(dataDir: string): Promise<boolean> {
  const house = housePayments(dataDir)
  const started = await sql(dataDir, "SELECT ref FROM payments WHERE state IN ('started', 'void')")
  return started.some(row => house.get(String(row.ref))?.state === 'captured')
}

/**
 * Both sides agree to the cent: what the house kept is what paid orders cost without the parts that were refunded, each part went back once,
 * and what was given back whole belongs to no paid order.
 * Returns the payments as the promises want them.
 */
export async function balanceMoney(shop: Shop, till: Till, sale: string, dataDir: string): Promise<PaymentFacts[]> {
  const orders = await shop.orders(sale)
  const whole = await atMost(WIDTH, orders, order => till.order(order.id))
  const house = housePayments(dataDir)
  const wrong: string[] = []
  const seen = new Set<string>()
  let kept = 0
  let due = 0
  let refunded = 0
  const facts: PaymentFacts[] = []
  for (const order of whole) {
    if (order.state === 'paid') due += order.amount.amount
    const captured = order.payments.filter(payment => payment.state === 'captured')
    if (captured.length !== (order.state === 'paid' ? 1 : 0))
      wrong.push(`${order.id} is ${order.state} with ${captured.length} captures`)
    for (const { id, ref, state, amount, refunds = [] } of order.payments) {
      seen.add(ref)
      const parts = refunds.map(part => part.amount.amount)
      facts.push({ order: order.id, amount, state, ...(parts.length > 0 && { parts }) })
      if (state === 'captured') due -= sumOf(parts)
      // What parts had left went back under the payment's own key, once.
      const left = state === 'refunded' && parts.length > 0 ? [`${id}: ${amount.amount - sumOf(parts)}`] : []
      const here = [...refunds.map(part => `${part.id}: ${part.amount.amount}`), ...left].sort()
      const back = house.get(ref)?.parts ?? []
      const given = back.map(part => `${part.key}: ${part.amount}${part.state === 'refunded' ? '' : ' pending'}`).sort()
      if (here.join() !== given.join()) wrong.push(`payment ${ref} gives back ${here} here and ${given} in the house`)
      const there = house.get(ref)?.state ?? 'none'
      const fits = {
        started: ['open', 'none', 'void'],
        void: ['void'],
        captured: ['captured'],
        refund_due: [],
        refunded: ['refunded'],
      }
      if (!(fits[state] as string[]).includes(there))
        wrong.push(`payment ${ref} is ${state} here and ${there} in the house`)
    }
  }
  for (const { ref, state, captured, parts = [] } of house.values()) {
    if (!seen.has(ref)) wrong.push(`the house knows payment ${ref}, the ledger does not`)
    if (state === 'captured') kept += (captured?.amount.amount ?? 0) - sumOf(parts.map(part => part.amount))
    if (state === 'refunded') refunded += 1
  }
  expect(wrong).toEqual([])
  expect(kept, 'captured − refunded = price × paid').toBe(due)
  const states = Map.groupBy(whole, order => order.reason ?? order.state)
  const counts = [...states].map(([state, some]) => `${some.length} ${state}`).join(', ')
  console.log(`  ${orders.length} orders: ${counts}; ${refunded} payments given back; ${kept} kept for ${due} due`)
  return facts
}
