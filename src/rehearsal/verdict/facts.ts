/**
 * Gathers what the promises are judged by: the sale's audit, its orders and their payments, and what the buyers were told; and says
 * which promises these facts say nothing about, so that nobody takes silence for a promise kept.
 */

import type { Clock } from '../../base/clock.ts'
import type { OrderFacts, PaymentFacts, Snapshot, Told } from '../../domain/promises/snapshot.ts'
import { ANSWER_MS_MAX } from '../client/pool.ts'
import { CALM } from '../patience.ts'
import type { Stage, WireAudit, WireOrder } from '../stage/stage.ts'
import { look, untilQuiet, type Waiting } from './quiet.ts'
import { BACK_MS_MAX, BACK_MS_ROOM, Returns } from './returns.ts'

export interface Books {
  readonly audit: WireAudit
  readonly orders: readonly WireOrder[]
  readonly snapshot: Snapshot
  /** Promises that can't be judged by this, by their number, and why. */
  readonly notJudged: ReadonlyMap<number, string>
}

interface Looking extends Omit<Waiting, 'returns'> {
  /** What was seen of them before. */
  readonly returns?: Returns
  /** A part was killed on purpose: what waits for its recovery is not held against anybody. */
  readonly hurt?: boolean
}

const BRIEFLY: Looking = { msMax: CALM.quietMsMax, watch: () => {} }

/** `firstEpoch`: what the item was sold under when the sale was published; 0 when nobody saw it. `atRest`: nobody asks for anything any more. */
export async function gatherFacts(
  stage: Stage,
  clock: Clock,
  sale: string,
  firstEpoch: number,
  told: readonly Told[],
  atRest: boolean,
  looking: Looking = BRIEFLY,
): Promise<Books> {
  const { stop, returns = new Returns() } = looking
  let audit = await untilQuiet(stage, clock, sale, { ...looking, msMax: atRest ? looking.msMax : 0, returns })
  const orders = await stage.orders(sale)
  if (atRest) audit = await look(stage, clock, sale, returns)
  const payments = stop?.aborted ? [] : await paymentsOf(stage, orders, stop)
  // Cut short, it is not known what was still on its way.
  const cutShort = stop?.aborted === true
  const quiet = atRest && !cutShort
  const { gate, closed: _, consistent: __, ...line } = audit
  const slowestMs = told.reduce((most, one) => Math.max(most, one.answeredAtMs - one.askedAtMs), 0)
  const sameEpoch = firstEpoch === audit.epoch
  const oldestReleaseMs = tooLong(returns, looking.hurt === true)
  const snapshot: Snapshot = {
    quiet,
    items: [{ ...line, rule: 'first_come', gate: gate ?? undefined, oldestReleaseMs, changes: [] }],
    orders: orders.map(order => toFacts(order, sameEpoch ? firstEpoch : undefined)),
    told,
    payments: cutShort ? [] : payments,
    bounds: [{ name: 'slowest answer (ms)', value: Math.round(slowestMs), max: ANSWER_MS_MAX + 2_000 }],
    // Counted inside the server; from here nobody sees it.
    refusals: { refusedAtEdge: 0, networkCalls: 0 },
  }
  const notJudged = new Map<number, string>()
  if (!quiet) notJudged.set(3, 'it ended early, and what was still on its way is not known')
  else if (oldestReleaseMs === undefined && returns.longestMs > BACK_MS_MAX)
    notJudged.set(3, `units were on their way back for ${(returns.longestMs / 1000).toFixed(1)} s`)
  if (firstEpoch === 0) notJudged.set(5, 'it ended before it began')
  else if (!sameEpoch) notJudged.set(5, 'the gate was rebuilt in the middle, and who came first is not known')
  if (cutShort) notJudged.set(6, 'it ended early, and the payments were not read')
  return { audit, orders, snapshot, notJudged }
}

/** For how long units were kept from sale, when that can't be the crowd's weight or a recovery any more. */
function tooLong({ longestMs, openMs, rebuilt }: Returns, hurt: boolean): number | undefined {
  const excused = longestMs <= BACK_MS_ROOM || rebuilt || hurt
  // What came in the end is excused; what is still on its way after all the waiting is not, by its own time.
  const ms = excused ? openMs : longestMs
  return ms > BACK_MS_MAX ? Math.round(ms) : undefined
}

async function paymentsOf(
  stage: Stage,
  orders: readonly WireOrder[],
  enough: AbortSignal | undefined,
): Promise<PaymentFacts[]> {
  const touched = orders.filter(order => order.state !== 'pending').map(order => order.id)
  const found: PaymentFacts[] = []
  for (const [order, payments] of await stage.payments(touched, enough)) {
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
