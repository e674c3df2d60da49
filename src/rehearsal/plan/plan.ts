/** What the crowd does and when, drawn before the run: it does not depend on the server's answers. The same seed gives the same plan. */

import type { Random } from '../../base/random.ts'
import type { Requests } from '../client/requests.ts'
import type { Mix } from './mix.ts'

/** `again`: a refused buyer who has come back. */
export type ClickKind = 'early' | 'first' | 'double' | 'retry' | 'again' | 'bot'

export interface Step {
  /** From the opening. */
  readonly atMs: number
  readonly act: 'time' | ClickKind | (() => void)
  readonly buyer: number
}

export type Range = readonly [fromMs: number, toMs: number]

/** How long before the opening the first requests leave. */
export const FIRST_CLICK_MS = 2_000
const TIME_MS: Range = [50, FIRST_CLICK_MS]
const EARLY_MS: Range = [200, 1_900]
const DOUBLE_MS: Range = [30, 400]
const BOT_CLICKS = 5

export function planSteps(random: Random, mix: Mix, arrivalsMs: Float64Array, bots: number): Step[] {
  const steps: Step[] = []
  for (let buyer = 0; buyer < arrivalsMs.length; buyer++) {
    const atMs = arrivalsMs[buyer]!
    steps.push({ atMs, act: 'first', buyer })
    if (random.next() < mix.time) steps.push({ atMs: -between(random, TIME_MS), act: 'time', buyer })
    if (random.next() < mix.early) steps.push({ atMs: -between(random, EARLY_MS), act: 'early', buyer })
    if (random.next() < mix.double) steps.push({ atMs: atMs + between(random, DOUBLE_MS), act: 'double', buyer })
  }
  for (let bot = 0; bot < bots; bot++) {
    for (let i = 0; i < BOT_CLICKS; i++) {
      const atMs = arrivalsMs[Math.floor(random.next() * arrivalsMs.length)] ?? 0
      steps.push({ atMs, act: 'bot', buyer: bot })
    }
  }
  return steps
}

/** Half of the bots have no ticket; the others replaced the name in another buyer's ticket by their own. */
export function botRequests(
  count: number,
  names: readonly string[],
  tickets: readonly string[],
  requests: Requests,
): readonly Buffer[] {
  return Array.from({ length: count }, (_, bot) => {
    if (bot % 2 === 0) return requests.order(undefined)
    return requests.order(tickets[bot % names.length]!.replace(names[bot % names.length]!, `bot-${bot}`))
  })
}

export function between(random: Random, [fromMs, toMs]: Range): number {
  return fromMs + random.next() * (toMs - fromMs)
}
