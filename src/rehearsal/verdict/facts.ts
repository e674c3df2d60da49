/**
 * Gathers what the promises are checked against: the sale's audit, its orders and payments, and what the buyers were told. Also names the
 * promises that these facts can't judge, so that a missing check is not taken for a kept promise.
 */

import type { OrderFacts, Snapshot, Told } from '../../domain/promises/snapshot.ts'
import { ANSWER_MS_MAX } from '../client/pool.ts'
import type { Operator, PlacedOrder } from '../operator/operator.ts'
import type { Audits } from './audits.ts'

export type Facts = Awaited<ReturnType<typeof gatherFacts>>

interface Gathering {
  readonly operator: Operator
  readonly audits: Audits
  readonly sale: string
  /** The item's epoch when the sale was published; 0 when it was not read. */
  readonly firstEpoch: number
  readonly told: readonly Told[]
  /** No buyer asks for anything any more. */
  readonly atRest: boolean
  /** How long to wait until the sale is at rest. */
  readonly msMax: number
  readonly watch: (waitsFor: string) => void
  readonly stop: AbortSignal
  /** A part was killed on purpose: waiting for its recovery breaks no promise. */
  readonly partKilled: boolean
}

/** Promise 3, and the time allowed to a machine that has just been under the crowd's load. */
const BACK_MS_MAX = 2_000
const BACK_MS_ROOM = 5 * BACK_MS_MAX

export async function gatherFacts(gathering: Gathering) {
  const { operator, audits, sale, firstEpoch, told, atRest, msMax, watch, stop, partKilled } = gathering
  let audit = await audits.untilQuiet(operator, atRest ? msMax : 0, watch, stop)
  const orders = await operator.orders(sale)
  if (atRest) audit = await audits.read(operator)
  const touched = orders.filter(order => order.state !== 'pending').map(order => order.id)
  const payments = stop.aborted ? [] : await operator.payments(touched, stop)
  // When the reading was stopped, it is unknown what was still under way.
  const cutShort = stop.aborted
  const quiet = atRest && !cutShort
  const sameEpoch = firstEpoch === audit.epoch
  const oldestReleaseMs = tooLongMs(audits, partKilled)
  const slowestMs = told.reduce((most, one) => Math.max(most, one.answeredAtMs - one.askedAtMs), 0)
  const snapshot: Snapshot = {
    quiet,
    items: [{ ...audit, rule: 'first_come', gate: audit.gate ?? undefined, oldestReleaseMs, changes: [] }],
    orders: orders.map(order => toFacts(order, sameEpoch ? firstEpoch : undefined)),
    told,
    payments: cutShort ? [] : payments,
    bounds: [{ name: 'slowest answer (ms)', value: Math.round(slowestMs), max: ANSWER_MS_MAX + 2_000 }],
    // Counted inside the server, and not visible from here.
    refusals: { refusedAtEdge: 0, networkCalls: 0 },
  }
  /** Promises that can't be judged, by number, and why. */
  const notJudged = new Map<number, string>()
  if (!quiet) notJudged.set(3, 'it ended early, and what was still under way is not known')
  else if (oldestReleaseMs === undefined && audits.longestMs > BACK_MS_MAX)
    notJudged.set(3, `units needed ${(audits.longestMs / 1000).toFixed(1)} s to be back on sale`)
  if (firstEpoch === 0) notJudged.set(5, 'it ended before it began')
  else if (!sameEpoch) notJudged.set(5, 'the gate was rebuilt during the run, and the order of arrival is not known')
  if (cutShort) notJudged.set(6, 'it ended early, and the payments were not read')
  return { audit, orders, snapshot, notJudged }
}

/** For how long units were kept from sale, when neither the crowd's load nor a recovery explains it. */
function tooLongMs({ longestMs, openMs, rebuilt }: Audits, partKilled: boolean): number | undefined {
  const excused = longestMs <= BACK_MS_ROOM || rebuilt || partKilled
  // Units that returned late are excused; units that never returned are not, by their own time.
  const ms = excused ? openMs : longestMs
  return ms > BACK_MS_MAX ? Math.round(ms) : undefined
}

function toFacts(order: PlacedOrder, epoch: number | undefined): OrderFacts {
  const { reason, supersededBy, amount, quantity } = order
  const toMs = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text))
  return {
    ...order,
    reason,
    supersededBy,
    epoch,
    price: { amount: amount.amount / quantity, currency: amount.currency },
    placedAtMs: Date.parse(order.placedAt),
    paidAtMs: toMs(order.paidAt),
    closedAtMs: toMs(order.closedAt),
  }
}
