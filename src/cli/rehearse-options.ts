/** What the options of `stampede rehearse` ask for: the crowd and when it clicks. What can't work is one line, before anything begins. */

import { readFileSync } from 'node:fs'
import { ConfigError } from '../app/config.ts'
import { systemRandom } from '../base/random.ts'
import { SHARDS_MAX } from '../domain/item.ts'
import { DEFAULT_MIX, parseMix } from '../rehearsal/plan/mix.ts'
import type { Shape } from '../rehearsal/plan/shape.ts'
import type { RehearsalOptions } from '../rehearsal/rehearsal-options.ts'

export interface RehearseOptions {
  readonly buyers?: number
  readonly units: number
  readonly shards: number
  readonly within: string
  readonly shape: string
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
  readonly report?: string
  readonly json?: boolean
}

export const BUYERS = 10_000
export const CONNECTIONS_MAX = 10_000
const BUYERS_MAX = 1_000_000
const CONNECTIONS_MIN = 256
const BUYERS_PER_CONNECTION = 25
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000 } as const
const MINUTE_MS = 60_000
/** The sale is open for two hours from the first planned opening; tickets for a large crowd and its retries need the rest. */
const CLICKS_MS_MAX = 100 * MINUTE_MS

export function readCrowd(options: RehearseOptions): Omit<RehearsalOptions, 'place' | 'kind' | 'fault'> {
  const shape = readShape(options)
  const buyers = options.buyers ?? (shape.kind === 'replay' ? shape.offsetsMs.length : BUYERS)
  between('--buyers', buyers, 1, BUYERS_MAX)
  between('--units', options.units, 1, BUYERS_MAX)
  between('--shards', options.shards, 1, SHARDS_MAX)
  checkTime(shape, buyers)
  const fitting = Math.min(
    CONNECTIONS_MAX,
    buyers,
    Math.max(CONNECTIONS_MIN, Math.ceil(buyers / BUYERS_PER_CONNECTION)),
  )
  const connections = options.connections ?? fitting
  between('--connections', connections, 1, CONNECTIONS_MAX)
  const seed = options.seed ?? Math.floor(systemRandom.next() * 2 ** 31)
  try {
    const mix = options.mix === undefined ? DEFAULT_MIX : parseMix(options.mix)
    return { buyers, units: options.units, shards: options.shards, shape, mix, seed, connections }
  } catch (error) {
    throw new ConfigError(`--mix: ${error instanceof Error ? error.message : error}`)
  }
}

function readShape(options: RehearseOptions): Shape {
  if (options.replay !== undefined) return { kind: 'replay', offsetsMs: readOffsets(options.replay) }
  if (options.rate !== undefined || options.shape === 'poisson') {
    if (options.rate === undefined) throw new ConfigError('--shape poisson needs --rate')
    between('--rate', options.rate, 1, 1_000_000)
    return { kind: 'poisson', perSecond: options.rate }
  }
  if (options.shape !== 'spike' && options.shape !== 'ramp')
    throw new ConfigError(`--shape: "${options.shape}" is none of spike, ramp, poisson`)
  const match = /^(\d{1,6})(ms|s|m)$/.exec(options.within)
  if (match === null) throw new ConfigError(`--within: "${options.within}" is not a time like 500ms, 1s or 2m`)
  return { kind: options.shape, withinMs: Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] }
}

/** A click after the end of the sale would only hear that it is over. */
function checkTime(shape: Shape, buyers: number): void {
  const [option, lastMs] = lastClick(shape, buyers)
  if (lastMs <= CLICKS_MS_MAX) return
  const minutes = Math.ceil(lastMs / MINUTE_MS).toLocaleString('en-GB')
  throw new ConfigError(
    `${option}: the last click would come ${minutes} minutes after the opening, and a rehearsal takes ${CLICKS_MS_MAX / MINUTE_MS} at most`,
  )
}

function lastClick(shape: Shape, buyers: number): readonly [option: string, ms: number] {
  switch (shape.kind) {
    case 'spike':
    case 'ramp':
      return ['--within', shape.withinMs]
    case 'poisson':
      return ['--rate', (buyers * 1000) / shape.perSecond]
    case 'replay':
      return ['--replay', shape.offsetsMs.slice(0, buyers).reduce((last, ms) => Math.max(last, ms), 0)]
  }
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
