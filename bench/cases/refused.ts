/**
 * The whole way to a "no": address limit, ticket verified, buyer limit, line, gate. Every buyer comes with a genuine ticket for a second
 * attempt at an item that allows one: nobody knows that but the gate, so nothing on the way can be left out. Beside a bare constant of
 * the very same status, headers and body.
 */

import type { BenchCase, PreparedCase, Stage } from '../bench-case.ts'
import { askersOf, freshOrders } from '../client/buyers.ts'
import { startConstant } from '../servers/child.ts'

const UNITS = 10
/** So many that none of them comes near the limit per buyer. */
const BUYERS = 60_000
const REFUSED = 409

export const refused: BenchCase = {
  name: 'refused by the gate',
  what: 'orders with a ticket verified, rate limits counted and the gate asked, beside a bare Bun.serve constant',
  aims: { constant: { rate: 0.55 } },
  prepare,
}

async function prepare(stage: Stage): Promise<PreparedCase> {
  const { clock, stampede, connections } = stage
  const on = await stampede.openSale({ units: UNITS, attemptsMax: 1 })
  const expiresAtMs = clock.now() + 3_600_000
  const ticket = stampede.tickets.issue({ ...on, buyer: 'the-first', attempt: 2, notBeforeMs: 0, expiresAtMs })
  const first = await stampede.ask(on, ticket)
  if (first.status !== REFUSED || !first.body.includes('attempts_used'))
    throw new Error(`the gate did not refuse: ${first.status} ${first.body}`)
  const constant = await startConstant(first)
  const unexpected = new Set<string>()
  const contestant = (name: string, server: Parameters<typeof askersOf>[0]['server']) => {
    const requests = freshOrders(stage, server.target, [on], BUYERS, 2)
    return askersOf({ name, server, clock, connections, requests, status: REFUSED, unexpected })
  }
  return {
    subject: contestant('stampede', stampede),
    references: [contestant('constant', constant)],
    settings: { bodyBytes: first.body.length, buyers: BUYERS },
    async check() {
      const books = await stampede.audit(on)
      if (!books.consistent || books.available !== UNITS || books.gate?.left !== UNITS)
        unexpected.add(`refused orders took something: ${JSON.stringify(books)}`)
      return { violations: [...unexpected] }
    },
    close: () => constant.stop(),
  }
}
