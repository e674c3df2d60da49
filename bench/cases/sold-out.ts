/**
 * The crowd that can't win: orders for an item that is sold out, beside the least that Bun can do, a constant of the same status, type
 * and size. Same client, same request bytes but for the port. With a valid ticket (each from another buyer who holds nothing), and
 * without any.
 */

import type { Target } from '../../src/rehearsal/client/connection.ts'
import type { BenchCase, Contestant, PreparedCase, Stage } from '../bench-case.ts'
import { runClosedLoop } from '../client/closed-loop.ts'
import { orderRequest } from '../client/request-bytes.ts'
import { startChild } from '../servers/child.ts'

const UNITS = 1
const BUYERS = 20_000
const HOUR_MS = 3_600_000
const SOLD_OUT = 409

export const soldOut: BenchCase = {
  name: 'sold-out',
  what: 'orders for a sold-out item, each with a valid ticket, beside a bare Bun.serve constant',
  aim: 0.7,
  prepare: stage => prepare(stage, true),
}

export const soldOutWithoutTicket: BenchCase = {
  name: 'sold-out, no ticket',
  what: 'orders for a sold-out item without a ticket, beside a bare Bun.serve constant',
  aim: 0.7,
  prepare: stage => prepare(stage, false),
}

async function prepare(stage: Stage, withTicket: boolean): Promise<PreparedCase> {
  const { clock, stampede, connections } = stage
  const on = await stampede.openSale(UNITS)
  const expiresAtMs = clock.now() + HOUR_MS
  const ticketOf = (buyer: string) => stampede.tickets.issue({ ...on, buyer, attempt: 1, notBeforeMs: 0, expiresAtMs })
  const url = `http://${stampede.target.host}:${stampede.target.port}/api/sales/${on.sale}/items/${on.item}/orders`
  const ask = (buyer: string) => fetch(url, { method: 'POST', headers: { authorization: `Bearer ${ticketOf(buyer)}` } })

  const bought = await ask('the-one-who-got-it')
  if (bought.status !== 201) throw new Error(`the only unit could not be bought: ${bought.status}`)
  const refused = await ask('the-first-who-did-not')
  const body = await refused.text()
  if (refused.status !== SOLD_OUT) throw new Error(`the item is not sold out: ${refused.status} ${body}`)
  const constant = await startChild('./constant.ts', [String(SOLD_OUT), body], {})

  const tickets = withTicket ? Array.from({ length: BUYERS }, (_, i) => ticketOf(`buyer-${i}`)) : [undefined]
  const unexpected = new Set<string>()
  const contestant = (name: string, serverPid: number, target: Target): Contestant => {
    const requests = tickets.map(ticket => orderRequest(target, on.sale, on.item, ticket))
    return {
      name,
      serverPid,
      prepare: async forMs => async () => {
        let i = 0
        const next = () => requests[i++ % requests.length]
        const result = await runClosedLoop({ target, connections, forMs, clock, next })
        for (const status of result.statuses.keys())
          if (status !== SOLD_OUT) unexpected.add(`${name}: status ${status}`)
        if (result.broken > 0) unexpected.add(`${name}: ${result.broken} requests without an answer`)
        return result
      },
    }
  }
  return {
    subject: contestant('stampede', stampede.pid, stampede.target),
    references: [contestant('constant', constant.pid, constant.target)],
    settings: { bodyBytes: body.length, buyers: tickets.length },
    async check() {
      const books = await stampede.audit(on)
      if (!books.consistent || books.available !== 0 || books.pending !== UNITS)
        unexpected.add(`sold-out item: ${books.available} available, ${books.pending} pending of ${UNITS}`)
      return [...unexpected]
    },
    close: () => constant.stop(),
  }
}
