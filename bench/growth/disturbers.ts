/**
 * Program: disturbs a server for as long as one export of a sale's orders takes, and for some seconds at least: 40 buyers' lists at once, an audit
 * and a reconciliation of that sale, each again as soon as it is answered. A process of its own, so that it does not disturb the load that is
 * measured. Prints what it was answered as one line of JSON. Argument: a `Task`.
 */

import { systemClock as clock } from '../../src/base/clock.ts'
import type { Target } from '../../src/rehearsal/client/connection.ts'
import { type LoadResult, runClosedLoop } from '../client/closed-loop.ts'
import { ADMIN_TOKEN } from '../servers/stampede.ts'
import type { Past } from './old-orders.ts'
import { listRequests, operatorRequest } from './read-requests.ts'

export interface Task {
  readonly target: Target
  readonly past: Past
  /** The sale that is exported, audited and reconciled. */
  readonly sale: string
  readonly leastMs: number
}

/** `refused`: answers of another status than 200, by status. */
interface Answered {
  readonly count: number
  readonly halfWithinMs: number
  readonly refused: Readonly<Record<string, number>>
}

export interface Disturbance extends Readonly<Record<'lists' | 'audits' | 'reconciliations', Answered>> {
  readonly tookMs: number
  readonly exported: { readonly status: number; readonly rows: number; readonly tookMs: number }
}

const LISTS_AT_ONCE = 40
const BUYERS = 4_000
/** An export that takes longer is cut off, and its rows are missing. */
const FOR_MS_MAX = 100_000
const OK = 200

const { target, past, sale, leastMs } = JSON.parse(process.argv[2] ?? '') as Task
const lists = await listRequests(target, past, BUYERS)
const beganMs = clock.elapsed()
let over = false

async function again(connections: number, requests: readonly Buffer[]): Promise<Answered> {
  let i = 0
  const next = () => (over ? undefined : requests[i++ % requests.length])
  return answered(await runClosedLoop({ target, connections, forMs: FOR_MS_MAX, clock, next }))
}

function answered({ answers, latency, statuses, broken }: LoadResult): Answered {
  const refused = Object.fromEntries([...statuses].filter(([status]) => status !== OK))
  return {
    count: answers,
    halfWithinMs: latency.quantile(0.5),
    refused: { ...refused, ...(broken > 0 && { unanswered: broken }) },
  }
}

async function exportOrders(): Promise<Disturbance['exported']> {
  const response = await fetch(`http://${target.host}:${target.port}/api/admin/sales/${sale}/orders`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, accept: 'text/csv' },
    signal: AbortSignal.timeout(FOR_MS_MAX),
  })
  // The first line names the columns.
  let rows = -1
  try {
    for await (const bytes of response.body ?? []) for (const byte of bytes) if (byte === 10) rows += 1
  } catch {
    // Cut off: the rows tell how far it came.
  }
  return { status: response.status, rows, tookMs: clock.elapsed() - beganMs }
}

const exporting = exportOrders().finally(async () => {
  await clock.sleep(Math.max(0, leastMs - (clock.elapsed() - beganMs)))
  over = true
})
const reading = [
  again(LISTS_AT_ONCE, lists),
  again(1, [operatorRequest(target, 'GET', `/sales/${sale}/audit`)]),
  again(1, [operatorRequest(target, 'POST', `/sales/${sale}/reconcile`)]),
]
const exported = await exporting
const [ofLists, ofAudits, ofReconciliations] = (await Promise.all(reading)) as [Answered, Answered, Answered]
const tookMs = clock.elapsed() - beganMs
const result: Disturbance = {
  tookMs,
  exported,
  lists: ofLists,
  audits: ofAudits,
  reconciliations: ofReconciliations,
}
console.log(JSON.stringify(result))
process.exit(0)
