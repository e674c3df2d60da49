/** What the crowd does and when, drawn before the run: it does not depend on the server's answers. The same seed gives the same plan. */

import type { Random } from '../../base/random.ts'
import type { Requests } from '../client/requests.ts'

/** What buyers do, as shares of all buyers (bots come on top). It resembles a real crowd; each share can be changed. */
export const DEFAULT_MIX = {
  /** Reads the server's time before the opening, as the page's countdown does. */
  time: 0.05,
  /** Clicks before the opening, is refused, and clicks again. */
  early: 0.05,
  /** Clicks a second time before or after the first answer. */
  double: 0.05,
  /** Of the buyers with an order: pay, cancel; the rest abandon it. */
  pay: 0.6,
  cancel: 0.05,
  /** Click several times without a ticket or with a forged one, from few addresses. */
  bots: 0.01,
}
export type Mix = Readonly<typeof DEFAULT_MIX>

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

/** Reads `early=10,bots=0`: percent of all buyers. Throws an error that says what is wrong. */
export function parseMix(text: string | undefined): Mix {
  const mix: Record<string, number> = { ...DEFAULT_MIX }
  for (const part of text?.split(',') ?? []) {
    const match = /^\s*([a-z]+)=([0-9]{1,3}(?:\.[0-9]+)?)%?\s*$/.exec(part)
    const [, name = '', percent = ''] = match ?? []
    if (match === null || !Object.hasOwn(DEFAULT_MIX, name) || Number(percent) > 100)
      throw new Error(
        `"${part.trim()}" is not one of ${Object.keys(DEFAULT_MIX).join(', ')} with a percentage, like early=10`,
      )
    mix[name] = Number(percent) / 100
  }
  if (mix.pay! + mix.cancel! > 1) throw new Error('pay and cancel together are more than 100%')
  return mix as unknown as Mix
}

export function describeMix(mix: Mix): string {
  return Object.entries(mix)
    .map(([name, share]) => `${name} ${Math.round(share * 1000) / 10}%`)
    .join(', ')
}
