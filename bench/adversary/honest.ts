/**
 * An honest buyer, as the page behaves: the ticket at a random moment of the countdown, one press when a person has seen the opening, a retry
 * where the answer says so, and another press when the button unlocks because a unit has returned. Pays within seconds.
 */

import { fetchTicket, order, pay, type Stage, type Tally } from './buying.ts'
import type { Buyer } from './population.ts'
import type { StockWatch } from './stock-watch.ts'

/** A person needs this long to see and press; then it is a matter of chance. In parts of the time to pay, as all of it is shortened. */
const REACTION = 0.02
const PRESS_MEAN = 0.2
const PAYS = [0.15, 0.35] as const
const RETRY_MS = 1_000
const TICKET_TRIES_MAX = 20

export async function buyHonestly(stage: Stage, watch: StockWatch, buyer: Buyer, tally: Tally): Promise<void> {
  const { clock, scene, random, untilMs } = stage
  const { ticketsForS, payWithinS } = stage.plan
  const pressAfter = () => (REACTION - PRESS_MEAN * Math.log(1 - random())) * payWithinS * 1000
  const isOver = () => clock.elapsed() >= untilMs
  await clock.sleep(Math.max(0, scene.opensAtMs - clock.now() - (0.1 + random() * 0.85) * ticketsForS * 1000))
  const ticket = await ticketFor(stage, buyer, tally)
  if (ticket === undefined) return
  await clock.sleep(Math.max(0, scene.opensAtMs - clock.now()) + pressAfter())
  while (!isOver()) {
    const answer = await order(stage, buyer, ticket, tally)
    if (answer.status >= 200 && answer.status < 300) {
      const [least, most] = PAYS
      await clock.sleep((least + random() * (most - least)) * payWithinS * 1000)
      await pay(stage, buyer, answer.body.id, tally)
      return
    }
    if (answer.code !== 'sold_out') await clock.sleep(RETRY_MS * (0.5 + random()))
    // The button is locked again if others were faster.
    else
      do {
        if (!(await watch.returned())) return
        await clock.sleep(pressAfter())
      } while (watch.left === 0 && !isOver())
  }
}

async function ticketFor(stage: Stage, buyer: Buyer, tally: Tally): Promise<string | undefined> {
  for (let tries = 0; tries < TICKET_TRIES_MAX; tries++) {
    const got = await fetchTicket(stage, buyer, () => true, tally)
    if (typeof got === 'string') return got
    await stage.clock.sleep(RETRY_MS * stage.random())
  }
  return undefined
}
