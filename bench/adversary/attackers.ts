/**
 * The adversary's accounts: a program that pays for as many tickets as its cores can solve before the opening, presses at the first millisecond and
 * whenever a unit returns, and pays (what a person confirms takes seconds for it too), or never pays and orders again when its order is closed.
 */

import { fetchTicket, order, pay, type Stage, type Tally } from './buying.ts'
import type { Buyer } from './population.ts'
import type { StockWatch } from './stock-watch.ts'

/** In parts of the time to pay. */
const PAYS = [0.2, 0.4] as const
const AGAIN_MS = 100
/** The first request leaves so long before the opening: the server waits with it. */
const AHEAD_MS = 60
const CALLS_EARLY_FROM_MS = 2_000

/** What the adversary can still solve, in core-seconds. */
export class Budget {
  #left: number

  constructor(coreSeconds: number) {
    this.#left = coreSeconds
  }

  pays(price: number): boolean {
    if (price > this.#left) return false
    this.#left -= price
    return true
  }
}

export async function attack(
  stage: Stage,
  watch: StockWatch,
  buyer: Buyer,
  budget: Budget,
  tally: Tally,
): Promise<void> {
  const { clock, scene, untilMs } = stage
  const isOver = () => clock.elapsed() >= untilMs
  const opensInMs = () => scene.opensAtMs - clock.now()
  while (!isOver()) {
    const ticket = await ticketFor(stage, buyer, budget, tally)
    if (ticket === undefined) return
    const aheadMs = buyer.role === 'early' ? CALLS_EARLY_FROM_MS : AHEAD_MS
    await clock.sleep(Math.max(0, opensInMs() - aheadMs))
    const id = await press(stage, watch, buyer, ticket, tally)
    if (id === undefined) return
    if (buyer.role !== 'holder') {
      const [least, most] = PAYS
      await clock.sleep((least + stage.random() * (most - least)) * stage.plan.payWithinS * 1000)
      await pay(stage, buyer, id, tally)
      return
    }
    await closed(stage, buyer, id)
  }
}

async function ticketFor(stage: Stage, buyer: Buyer, budget: Budget, tally: Tally): Promise<string | undefined> {
  while (stage.clock.elapsed() < stage.untilMs) {
    const got = await fetchTicket(stage, buyer, price => budget.pays(price), tally)
    if (got === 'too dear') return undefined
    if (typeof got === 'string') return got
    if (['attempts_used', 'hold_limit', 'denied', 'sale_over'].includes(got.code)) return undefined
    await stage.clock.sleep(AGAIN_MS)
  }
  return undefined
}

/** Until there is an order: its id; undefined when there will be none. */
async function press(
  stage: Stage,
  watch: StockWatch,
  buyer: Buyer,
  ticket: string,
  tally: Tally,
): Promise<string | undefined> {
  while (stage.clock.elapsed() < stage.untilMs) {
    const answer = await order(stage, buyer, ticket, tally)
    if (answer.status >= 200 && answer.status < 300) return String(answer.body.id)
    if (['ticket_invalid', 'attempts_used', 'denied', 'sale_over'].includes(answer.code)) return undefined
    await stage.clock.sleep(AGAIN_MS)
    if (answer.code === 'sold_out' && !(await watch.returned())) return undefined
  }
  return undefined
}

/** A holder waits until its unpaid order is closed. */
async function closed({ web, clock, untilMs }: Stage, { ordersFrom: from, token }: Buyer, id: string): Promise<void> {
  while (clock.elapsed() < untilMs) {
    const { body } = await web.call('GET', `/api/orders/${id}`, { from, bearer: token })
    if (body.state === 'closed') return
    await clock.sleep(1_000)
  }
}
