/**
 * Crowds for the bench. `buyersOf`: each buyer orders once with its own ticket; acknowledged orders are counted, to be compared with the
 * rows afterwards. `askersOf`: the same requests repeated, for answers without an effect.
 */

import type { Clock } from '../../src/base/clock.ts'
import type { Target } from '../../src/rehearsal/client/connection.ts'
import type { Contestant } from '../bench-case.ts'
import type { ItemOnSale, Stampede } from '../servers/stampede.ts'
import { type LoadResult, runClosedLoop } from './closed-loop.ts'
import { ORDER_BODY, orderRequest } from './request-bytes.ts'

/** With the gate in Redis a buyer may get "reserved" first; the row follows. */
export const ACKNOWLEDGED: readonly number[] = [201, 202]
const HOUR_MS = 3_600_000

/** The orders that a crowd was told of, over all its rounds. */
export class Acknowledged {
  placed = 0
  readonly unexpected = new Set<string>()

  /** The result with its rate counted in orders. `expected`: other statuses that are no error. */
  add(name: string, result: LoadResult, expected: readonly number[] = []): LoadResult {
    const placed = ACKNOWLEDGED.reduce((sum, status) => sum + (result.statuses.get(status) ?? 0), 0)
    this.placed += placed
    for (const [status, times] of result.statuses)
      if (!ACKNOWLEDGED.includes(status) && !expected.includes(status))
        this.unexpected.add(`${name}: ${times} × status ${status}`)
    if (result.broken > 0) this.unexpected.add(`${name}: ${result.broken} requests without an answer`)
    return { ...result, perSecond: (placed / result.tookMs) * 1000 }
  }
}

let buyersSoFar = 0

/** Order requests of new buyers, spread over the items. */
export function freshOrders(
  { stampede, clock }: { readonly stampede: Stampede; readonly clock: Clock },
  target: Target,
  items: readonly ItemOnSale[],
  count: number,
  attempt = 1,
  body = ORDER_BODY,
): Buffer[] {
  const expiresAtMs = clock.now() + HOUR_MS
  return Array.from({ length: count }, (_, i) => {
    const on = items[i % items.length]!
    const buyer = `buyer-${buyersSoFar++}`
    const ticket = stampede.tickets.issue({ ...on, buyer, attempt, notBeforeMs: 0, expiresAtMs })
    return orderRequest(target, on.sale, on.item, ticket, body)
  })
}

interface BuyersOptions {
  readonly name: string
  readonly serverPid: number
  readonly target: Target
  readonly stampede: Stampede
  readonly clock: Clock
  readonly connections: number
  readonly items: readonly ItemOnSale[]
  /** Tickets prepared per second of a round; a round that uses them up ends early and is still valid. */
  readonly ticketsPerSecond: number
  readonly acknowledged: Acknowledged
  readonly expected?: readonly number[]
  readonly body?: string
}

export function buyersOf(options: BuyersOptions): Contestant {
  const { name, serverPid, target, stampede, clock, connections, acknowledged, expected } = options
  return {
    name,
    serverPid,
    postgresPid: stampede.postgres.pid,
    async prepare(forMs) {
      const count = connections + Math.ceil((options.ticketsPerSecond * forMs) / 1000)
      const requests = freshOrders(options, target, options.items, count, 1, options.body)
      return async () => {
        let i = 0
        return acknowledged.add(
          name,
          await runClosedLoop({ target, connections, forMs, clock, next: () => requests[i++] }),
          expected,
        )
      }
    },
  }
}

interface AskersOptions {
  readonly name: string
  readonly server: { readonly pid: number; readonly target: Target; readonly hasWorkers?: boolean }
  readonly clock: Clock
  readonly connections: number
  readonly requests: readonly Buffer[]
  readonly status: number
  readonly unexpected: Set<string>
}

export function askersOf(options: AskersOptions): Contestant {
  const { name, server, clock, connections, requests, status: right, unexpected } = options
  const { target } = server
  let i = 0
  return {
    name,
    serverPid: server.pid,
    ...(server.hasWorkers === true && { serverHasWorkers: true }),
    prepare: async forMs => async () => {
      const next = () => requests[i++ % requests.length]
      const result = await runClosedLoop({ target, connections, forMs, clock, next })
      for (const status of result.statuses.keys()) if (status !== right) unexpected.add(`${name}: status ${status}`)
      if (result.broken > 0) unexpected.add(`${name}: ${result.broken} requests without an answer`)
      return result
    },
  }
}
