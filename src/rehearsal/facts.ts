/** Gathers what the promises are judged by: the sale's audit, its orders and their payments, and what the buyers were told. */

import type { Clock } from '../base/clock.ts'
import type { OrderFacts, PaymentFacts, Snapshot, Told } from '../domain/promises/snapshot.ts'
import { ANSWER_MS_MAX } from './client/pool.ts'
import { CALM } from './patience.ts'
import { untilQuiet } from './quiet.ts'
import type { Stage, WireAudit, WireOrder } from './stage.ts'

export interface Books {
  readonly audit: WireAudit
  readonly orders: readonly WireOrder[]
  readonly snapshot: Snapshot
}

/** How long what is still on its way is waited for, and who hears of it. */
interface Waiting {
  readonly msMax: number
  readonly watch: (waitsFor: string) => void
}

const BRIEFLY: Waiting = { msMax: CALM.quietMsMax, watch: () => {} }

/** `firstEpoch`: what the item was sold under when the sale was published. `quiet`: nobody asks for anything any more. */
export async function gatherFacts(
  stage: Stage,
  clock: Clock,
  sale: string,
  firstEpoch: number,
  told: readonly Told[],
  quiet: boolean,
  waiting: Waiting = BRIEFLY,
): Promise<Books> {
  let audit = await untilQuiet(stage, clock, sale, quiet ? waiting.msMax : 0, waiting.watch)
  const orders = await stage.orders(sale)
  if (quiet) audit = await stage.audit(sale)
  const payments = await paymentsOf(stage, orders)
  const { gate, closed: _, consistent: __, ...line } = audit
  const slowestMs = told.reduce((most, one) => Math.max(most, one.answeredAtMs - one.askedAtMs), 0)
  const snapshot: Snapshot = {
    quiet,
    items: [{ ...line, rule: 'first_come', gate: gate ?? undefined, oldestReleaseMs: undefined, changes: [] }],
    orders: orders.map(order => toFacts(order, firstEpoch === audit.epoch ? firstEpoch : undefined)),
    told,
    payments,
    bounds: [{ name: 'slowest answer (ms)', value: Math.round(slowestMs), max: ANSWER_MS_MAX + 2_000 }],
    // Counted inside the server; from here nobody sees it.
    refusals: { refusedAtEdge: 0, networkCalls: 0 },
  }
  return { audit, orders, snapshot }
}

async function paymentsOf(stage: Stage, orders: readonly WireOrder[]): Promise<PaymentFacts[]> {
  const touched = orders.filter(order => order.state !== 'pending').map(order => order.id)
  const found: PaymentFacts[] = []
  for (const [order, payments] of await stage.payments(touched)) {
    for (const { amount, state } of payments) found.push({ order, amount, state })
  }
  return found
}

function toFacts(order: WireOrder, epoch: number | undefined): OrderFacts {
  const { id, item, buyer, attempt, quantity, state, reason, supersededBy, amount } = order
  const toMs = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text))
  return {
    id,
    item,
    buyer,
    attempt,
    quantity,
    state,
    reason,
    supersededBy,
    epoch,
    price: { amount: amount.amount / quantity, currency: amount.currency },
    placedAtMs: toMs(order.placedAt) ?? Number.NaN,
    paidAtMs: toMs(order.paidAt),
    closedAtMs: toMs(order.closedAt),
  }
}
