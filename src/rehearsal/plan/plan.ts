/**
 * What the crowd will do and when, drawn beforehand: it does not depend on what the server answers. The same chance is the same plan.
 * What they do with the answers is not planned here.
 */

import type { Random } from '../../base/random.ts'
import type { Requests } from '../client/requests.ts'
import type { Mix } from './mix.ts'

/** `again`: of one who was refused and has come back. */
export type ClickKind = 'early' | 'first' | 'double' | 'retry' | 'again' | 'bot'

export interface Step {
  /** From the opening. */
  readonly atMs: number
  readonly act: 'time' | ClickKind | (() => void)
  readonly buyer: number
}

interface PlanParts {
  readonly random: Random
  readonly mix: Mix
  readonly arrivalsMs: Float64Array
  readonly bots: number
}

interface BotParts {
  readonly names: readonly string[]
  readonly tickets: readonly string[]
  readonly requests: Requests
  readonly mix: Mix
}

export type Range = readonly [fromMs: number, toMs: number]

/** How long before the opening the first of them stir. */
export const STIR_MS = 2_000
const TIME_MS: Range = [50, STIR_MS]
const EARLY_MS: Range = [200, 1_900]
const DOUBLE_MS: Range = [30, 400]
const BOT_CLICKS = 5

export function planSteps({ random, mix, arrivalsMs, bots }: PlanParts): Step[] {
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
      const near = arrivalsMs[Math.floor(random.next() * arrivalsMs.length)] ?? 0
      steps.push({ atMs: near, act: 'bot', buyer: bot })
    }
  }
  return steps
}

/** Half of the bots have no ticket at all; the others took somebody's and wrote their own name on it. */
export function botRequests({ names, tickets, requests, mix }: BotParts): readonly Buffer[] {
  return Array.from({ length: Math.ceil(names.length * mix.bots) }, (_, bot) => {
    if (bot % 2 === 0) return requests.order(undefined)
    return requests.order(tickets[bot % names.length]!.replace(names[bot % names.length]!, `bot-${bot}`))
  })
}

export function between(random: Random, [fromMs, toMs]: Range): number {
  return fromMs + random.next() * (toMs - fromMs)
}
