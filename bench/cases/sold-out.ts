/**
 * Orders for an item that is sold out, beside a constant answer of the same status, headers and body from the simplest Bun server and from
 * nginx. Same client, same request bytes except the port. With a valid ticket (each of another buyer without an order), and without one.
 */

import type { BenchCase, PreparedCase, Stage } from '../bench-case.ts'
import { askersOf } from '../client/buyers.ts'
import { orderRequest } from '../client/request-bytes.ts'
import { startConstant } from '../servers/child.ts'
import { startNginx } from '../servers/nginx.ts'

const UNITS = 1
const BUYERS = 20_000
const HOUR_MS = 3_600_000
const SOLD_OUT = 409
const AIMS = { constant: { rate: 0.85 }, nginx: { rate: 0.7 } }

export const soldOut: BenchCase = {
  name: 'sold-out',
  what: 'orders for a sold-out item, each with a valid ticket, beside a bare Bun.serve constant and an nginx constant',
  aims: AIMS,
  needs: ['nginx'],
  prepare: stage => prepare(stage, true),
}

export const soldOutWithoutTicket: BenchCase = {
  name: 'sold-out, no ticket',
  what: 'orders for a sold-out item without a ticket, beside a bare Bun.serve constant and an nginx constant',
  aims: AIMS,
  needs: ['nginx'],
  prepare: stage => prepare(stage, false),
}

async function prepare(stage: Stage, withTicket: boolean): Promise<PreparedCase> {
  const { clock, stampede, connections } = stage
  const on = await stampede.openSale({ units: UNITS })
  const expiresAtMs = clock.now() + HOUR_MS
  const ticketOf = (buyer: string) => stampede.tickets.issue({ ...on, buyer, attempt: 1, notBeforeMs: 0, expiresAtMs })

  const bought = await stampede.ask(on, ticketOf('the-one-who-got-it'))
  if (bought.status !== 201) throw new Error(`the only unit could not be bought: ${bought.status}`)
  const refused = await stampede.ask(on, ticketOf('the-first-who-did-not'))
  if (refused.status !== SOLD_OUT) throw new Error(`the item is not sold out: ${refused.status} ${refused.body}`)
  const constant = await startConstant(refused)
  const nginx = await startNginx(refused).catch(async (error: unknown) => {
    await constant.stop()
    throw error
  })

  const tickets = withTicket ? Array.from({ length: BUYERS }, (_, i) => ticketOf(`buyer-${i}`)) : [undefined]
  const unexpected = new Set<string>()
  const contestant = (name: string, server: Parameters<typeof askersOf>[0]['server']) => {
    const requests = tickets.map(ticket => orderRequest(server.target, on.sale, on.item, ticket))
    return askersOf({ name, server, clock, connections, requests, status: SOLD_OUT, unexpected })
  }
  return {
    subject: contestant('stampede', stampede),
    references: [contestant('constant', constant), contestant('nginx', { ...nginx, hasWorkers: true })],
    settings: { bodyBytes: refused.body.length, buyers: tickets.length },
    async check() {
      const audit = await stampede.audit(on)
      if (!audit.consistent || audit.available !== 0 || audit.pending !== UNITS)
        unexpected.add(`sold-out item: ${audit.available} available, ${audit.pending} pending of ${UNITS}`)
      return { violations: [...unexpected] }
    },
    async close() {
      await constant.stop()
      await nginx.stop()
    },
  }
}
