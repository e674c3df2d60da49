/**
 * A refusal by the gate, with every step before it: address limit, ticket verification, buyer limit, queue, gate. Every buyer has a valid
 * ticket for a second attempt at an item that allows one: only the gate knows that, so no step can be skipped. Beside a constant answer of
 * the same status, headers and body.
 */

import type { BenchCase, PreparedCase, Stage } from '../bench-case.ts'
import { askersOf, freshOrders } from '../client/buyers.ts'
import { startConstant } from '../servers/child.ts'

const UNITS = 10
/** So many that none reaches the limit per buyer. */
const BUYERS = 60_000
const REFUSED = 409

export const refused: BenchCase = {
  name: 'refused by the gate',
  what: 'orders with a ticket verified, rate limits counted and the gate asked, beside a bare Bun.serve constant',
  aims: { constant: { rate: 0.65 } },
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
      const audit = await stampede.audit(on)
      if (!audit.consistent || audit.available !== UNITS || audit.gate?.left !== UNITS)
        unexpected.add(`refused orders took something: ${JSON.stringify(audit)}`)
      return { violations: [...unexpected] }
    },
    close: () => constant.stop(),
  }
}
