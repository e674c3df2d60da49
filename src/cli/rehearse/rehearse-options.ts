/** The options of `stampede rehearse`: the crowd and when it clicks. Options that can't work are refused in one line, before anything begins. */

import { readFileSync } from 'node:fs'
import { ConfigError } from '../../app/config/config.ts'
import { systemRandom } from '../../base/random.ts'
import { SHARDS_MAX } from '../../domain/item.ts'
import { LINE_RATE_MAX } from '../../domain/line.ts'
import { parseMix } from '../../rehearsal/plan/plan.ts'
import type { Shape } from '../../rehearsal/plan/shape.ts'
import type { RehearsalOptions } from '../../rehearsal/result.ts'
import { whole } from '../../rehearsal/verdict/verdict.ts'
import { orUsage } from '../arguments.ts'

export interface RehearseOptions {
  readonly buyers?: number
  readonly units: number
  readonly shards: number
  readonly within?: string
  readonly shape?: string
  readonly rate?: number
  readonly replay?: string
  readonly mix?: string
  readonly connections?: number
  readonly seed?: number
  readonly against?: string
  readonly token?: string
  readonly buyerSecret?: string
  readonly fault?: string
  readonly cluster?: string
  readonly line?: string
  readonly constant: boolean
  readonly report?: string
  readonly json?: boolean
}

export const BUYERS = 10_000
export const CONNECTIONS_MAX = 10_000
const BUYERS_MAX = 1_000_000
const RATE_MAX = 1_000_000
const WITHIN = '1s'
const CONNECTIONS_MIN = 256
const BUYERS_PER_CONNECTION = 25
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000 } as const
const MINUTE_MS = 60_000
/** The sale is open for two hours from the first planned opening; tickets for a large crowd and its retries need the rest. */
const CLICKS_MS_MAX = 100 * MINUTE_MS

export function readCrowd(options: RehearseOptions): Omit<RehearsalOptions, 'server' | 'kind' | 'fault'> {
  const recorded = readReplay(options)
  const buyers = options.buyers ?? recorded?.offsetsMs.length ?? BUYERS
  between('--buyers', buyers, 1, BUYERS_MAX)
  between('--units', options.units, 1, BUYERS_MAX)
  between('--shards', options.shards, 1, SHARDS_MAX)
  const shape = recorded ?? readShape(options, buyers)
  checkTime(shape, options, buyers)
  const fitting = Math.min(
    CONNECTIONS_MAX,
    buyers,
    Math.max(CONNECTIONS_MIN, Math.ceil(buyers / BUYERS_PER_CONNECTION)),
  )
  const connections = options.connections ?? fitting
  between('--connections', connections, 1, CONNECTIONS_MAX)
  const seed = options.seed ?? Math.floor(systemRandom.next() * 2 ** 31)
  const line = readLine(options)
  const asked = orUsage('--mix', () => parseMix(options.mix))
  // In a line a click before the opening is a join like any other, and a ticket can't be forged before one is given.
  const mix = line === undefined ? asked : { ...asked, early: 0, bots: 0 }
  const crowd = { buyers, units: options.units, shards: options.shards, shape, mix, seed, connections }
  return { ...crowd, ...(line !== undefined && { line }) }
}

function readLine({ line, fault }: RehearseOptions): RehearsalOptions['line'] {
  if (line === undefined) return undefined
  if (fault !== undefined) throw new ConfigError('--line: a part that is killed is not rehearsed with a line')
  const rate = line === 'auto' ? line : Number(line)
  if (rate !== 'auto' && !(rate >= 0.1 && rate <= LINE_RATE_MAX))
    throw new ConfigError(
      `--line: "${line}" is neither auto nor a number of people a second from 0.1 to ${LINE_RATE_MAX}`,
    )
  return { rate }
}

/** Recorded clicks fix every moment. An option that would have no effect beside them is refused. */
function readReplay(options: RehearseOptions) {
  if (options.replay === undefined) return undefined
  const idle = (['shape', 'rate', 'within'] as const).find(name => options[name] !== undefined)
  if (idle !== undefined) throw new ConfigError(`--replay says when everyone clicks: --${idle} has no place beside it`)
  return { kind: 'replay' as const, offsetsMs: readOffsets(options.replay) }
}

function readShape(options: RehearseOptions, buyers: number): Shape {
  const { rate, within } = options
  const kind = options.shape ?? (rate === undefined ? 'spike' : 'poisson')
  if (kind !== 'spike' && kind !== 'ramp' && kind !== 'poisson')
    throw new ConfigError(`--shape: "${kind}" is none of spike, ramp, poisson`)
  if (kind === 'poisson') return { kind, perSecond: readRate(options, buyers) }
  if (rate !== undefined) throw new ConfigError(`--rate is for --shape poisson, not ${kind}`)
  return { kind, withinMs: readWithin(within) }
}

/** As given, or so that all buyers have clicked in time, on average. */
function readRate({ rate, within }: RehearseOptions, buyers: number): number {
  if (rate === undefined) {
    const perSecond = (buyers * 1000) / readWithin(within)
    if (perSecond > RATE_MAX)
      throw new ConfigError(`--within: ${buyers} buyers in ${within} are more than ${RATE_MAX} clicks a second`)
    return Number(perSecond.toPrecision(4))
  }
  if (within !== undefined)
    throw new ConfigError('--rate and --within both say how fast the crowd comes: only one of them can be meant')
  between('--rate', rate, 1, RATE_MAX)
  return rate
}

function readWithin(within = WITHIN): number {
  const match = /^(\d{1,6})(ms|s|m)$/.exec(within)
  if (match === null) throw new ConfigError(`--within: "${within}" is not a time like 500ms, 1s or 2m`)
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS]
}

/** A click after the end of the sale would test nothing. */
function checkTime(shape: Shape, { rate, within }: RehearseOptions, buyers: number): void {
  let [option, lastMs] = ['--within', 0]
  if (shape.kind === 'replay') {
    option = '--replay'
    for (const ms of shape.offsetsMs.slice(0, buyers)) lastMs = Math.max(lastMs, ms)
  } else if (rate !== undefined) {
    option = '--rate'
    lastMs = (buyers * 1000) / rate
  } else lastMs = readWithin(within)
  if (lastMs <= CLICKS_MS_MAX) return
  const minutes = whole(Math.ceil(lastMs / MINUTE_MS))
  throw new ConfigError(
    `${option}: the last click would come ${minutes} minutes after the opening, and a rehearsal takes ${CLICKS_MS_MAX / MINUTE_MS} at most`,
  )
}

function readOffsets(path: string): number[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw new ConfigError(`--replay: ${path} can not be read`)
  }
  const offsets: number[] = []
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const ms = Number(line)
    if (!Number.isFinite(ms) || ms < 0)
      throw new ConfigError(`--replay: line ${i + 1} of ${path} is not a time in milliseconds`)
    offsets.push(ms)
  }
  if (offsets.length === 0) throw new ConfigError(`--replay: there is no time in ${path}`)
  return offsets
}

function between(option: string, value: number, min: number, max: number): void {
  if (value < min || value > max) throw new ConfigError(`${option} must lie between ${min} and ${max}`)
}
