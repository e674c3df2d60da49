/** The calls that honest buyers and the adversary make alike: a ticket for its price, an order, a payment. Counts how each was answered. */

import type { Clock } from '../../src/base/clock.ts'
import type { Buyer, Plan } from './population.ts'
import type { Scene } from './scene.ts'
import type { Solving } from './solving.ts'
import type { Answered, Web } from './web.ts'

export interface Stage {
  readonly plan: Plan
  readonly scene: Scene
  readonly web: Web
  readonly clock: Clock
  readonly solving: Solving
  readonly random: () => number
  /** When the sale is over for this run, on the clock's `elapsed`. */
  readonly untilMs: number
}

/** Code or status → how often. */
export type Tally = Map<string, number>

function count(tally: Tally, { status, code }: Answered): void {
  const key = code || String(status)
  tally.set(key, (tally.get(key) ?? 0) + 1)
}

/** @param pays what the challenge costs, in core-seconds: true when it is paid and solved */
export async function fetchTicket(
  { web, scene, solving }: Stage,
  { address, token }: Buyer,
  pays: (price: number) => boolean,
  tally: Tally,
): Promise<string | Answered | 'too dear'> {
  const ask = async (body?: unknown) => {
    const answer = await web.call('POST', `${scene.path}/ticket`, { from: address, bearer: token, body })
    count(tally, answer)
    return answer
  }
  let answer = await ask()
  if (answer.code === 'challenge_required') {
    if (!pays(solving.priceOf(answer.body.challenge))) return 'too dear'
    answer = await ask({ challenge: await solving.solve(answer.body.challenge) })
  }
  return answer.status === 201 ? String(answer.body.ticket) : answer
}

export async function order({ web, scene }: Stage, { ordersFrom }: Buyer, ticket: string, tally: Tally) {
  const answer = await web.call('POST', `${scene.path}/orders`, { from: ordersFrom, bearer: ticket })
  count(tally, answer)
  return answer
}

/** Counts a payment that did not come through as `not paid`, with why. */
export async function pay(
  { web }: Stage,
  { ordersFrom: from, token }: Buyer,
  id: unknown,
  tally: Tally,
): Promise<void> {
  const started = await web.call('POST', `/api/orders/${id}/payment`, { from, bearer: token, body: {} })
  const failed = ({ status, code }: Answered) => count(tally, { status, code: `not paid: ${code || status}`, body: {} })
  if (started.status !== 201) return failed(started)
  const { pathname } = new URL(String(started.body.payUrl), 'http://x')
  const approved = await web.call('POST', `${pathname}/approve`, { from })
  if (approved.status === 0 || approved.status >= 300) failed(approved)
}
