/** One sale with some defences on: everybody comes, and two times to pay after the opening it is counted who has the units. */

import type { Clock } from '../../src/base/clock.ts'
import { seededRandom } from '../../src/base/random.ts'
import { attack, Budget } from './attackers.ts'
import type { Stage, Tally } from './buying.ts'
import { Hoarders } from './hoarders.ts'
import { buyHonestly } from './honest.ts'
import { makePopulation, type Plan } from './population.ts'
import { openScene } from './scene.ts'
import { createSolving } from './solving.ts'
import { StockWatch } from './stock-watch.ts'
import { Web } from './web.ts'

export interface Outcome {
  /** Parts of the units. */
  readonly honest: number
  readonly adversary: number
  readonly unsold: number
  /** How honest buyers and the adversary were answered. */
  readonly toHonest: Tally
  readonly toAdversary: Tally
  /** Honest buyers whom a limit refused, by its code. */
  readonly refusals: number
  readonly violations: readonly string[]
}

/** A rented machine. */
export const ADVERSARY_CORES = 8
/** How long it can solve: from the first ticket to the opening, as in a real sale. */
const SOLVES_FOR_S = { late: 120, early: 1_800 }
const LIMIT_CODES = ['rate_limited', 'hold_limit', 'denied']
/** Units that have just returned are bought by then: a part of the two times to pay. */
const SETTLE = 0.15
const CONNECTIONS = 200

export async function runSale(on: ReadonlySet<string>, plan: Plan, seed: number, clock: Clock): Promise<Outcome> {
  const population = await makePopulation(plan)
  const scene = await openScene(on, plan, clock)
  const hoarders = new Hoarders(scene.url, scene.path, Math.ceil(plan.accounts / 5), clock)
  const [web, adversaryWeb] = [
    await Web.open(scene.url, CONNECTIONS, clock),
    await Web.open(scene.url, CONNECTIONS, clock),
  ]
  const watch = new StockWatch(web, scene.sale, clock)
  try {
    const untilMs = clock.elapsed() + scene.opensAtMs - clock.now() + 2 * plan.payWithinS * 1000 * (1 + SETTLE)
    const random = seededRandom(seed)
    const solving = createSolving(scene.dataDir, clock)
    const stage: Stage = { plan, scene, web, clock, solving, random: () => random.next(), untilMs }
    const budget = new Budget(ADVERSARY_CORES * SOLVES_FOR_S[on.has('late tickets') ? 'late' : 'early'])
    const toHonest: Tally = new Map()
    const toAdversary: Tally = new Map()
    const everybody = [
      ...population.adversary.map(one => attack({ ...stage, web: adversaryWeb }, watch, one, budget, toAdversary)),
      ...population.honest.map(one => buyHonestly(stage, watch, one, toHonest)),
    ]
    await clock.sleep(untilMs - clock.elapsed())
    watch.stop()
    await Promise.all(everybody)
    return await outcomeOf(scene, plan, toHonest, toAdversary)
  } finally {
    watch.stop()
    hoarders.release()
    web.close()
    adversaryWeb.close()
    await scene.close()
  }
}

async function outcomeOf(
  scene: Awaited<ReturnType<typeof openScene>>,
  { units }: Plan,
  toHonest: Tally,
  toAdversary: Tally,
): Promise<Outcome> {
  const live = (await scene.orders()).filter(({ state }) => state === 'paid' || state === 'pending')
  const heldBy = (name: string) =>
    live.filter(({ buyer }) => buyer.startsWith(name)).reduce((sum, { quantity }) => sum + quantity, 0) / units
  const [honest, adversary] = [heldBy('honest-'), heldBy('account-')]
  return {
    honest,
    adversary,
    unsold: 1 - honest - adversary,
    toHonest,
    toAdversary,
    refusals: LIMIT_CODES.reduce((sum, code) => sum + (toHonest.get(code) ?? 0), 0),
    violations: (await scene.audit()) ? [] : ['the audit is not consistent'],
  }
}
