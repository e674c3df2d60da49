/**
 * What a case is: a subject measured beside one or more references, in turns, round by round, and a check of what all of it left
 * behind. A case file says what is measured and why the reference is a fair one; how rounds are run and reported lives elsewhere.
 * What has no rounds (memory, growth) is a survey: figures beside the first of their own kind.
 */

import type { Clock } from '../src/base/clock.ts'
import type { LoadResult } from './client/closed-loop.ts'
import type { Stampede } from './servers/stampede.ts'

/** One contestant. The CPU time of its server, and of PostgreSQL where it uses one, is its cost. */
export interface Contestant {
  readonly name: string
  readonly serverPid: number
  /** The server's work is done by its children: a master with a worker. */
  readonly serverHasWorkers?: true
  /** Other processes that serve it too. */
  readonly besidePids?: readonly number[]
  readonly postgresPid?: number
  /** Everything that is not to be measured (tickets, request bytes) happens before `load` is returned. */
  prepare(forMs: number): Promise<() => Promise<LoadResult>>
}

export interface Findings {
  /** Sentences about what must not be; empty when all is well. A fast run that oversells is a failed run. */
  readonly violations: readonly string[]
  /** Contestant → units sold beyond those there were, as its tables say afterwards. */
  readonly oversold?: ReadonlyMap<string, number>
}

export interface PreparedCase {
  readonly subject: Contestant
  readonly references: readonly Contestant[]
  /** What was chosen or found on the way, for the report. */
  readonly settings: Readonly<Record<string, unknown>>
  check(): Promise<Findings>
  close(): Promise<void>
}

/** `rate`: the subject's answers per second over the reference's. `p99`: the reference's over the subject's. */
export interface Aim {
  readonly rate?: number
  readonly p99?: number
}

export interface BenchCase {
  readonly name: string
  readonly what: string
  /** Reference → the ratios to it that the project aims at. */
  readonly aims: Readonly<Record<string, Aim>>
  /** Programs that npm does not bring. */
  readonly needs?: readonly ('nginx' | 'redis-server')[]
  /** Not part of what runs without arguments. */
  readonly onlyWhenNamed?: true
  prepare(stage: Stage): Promise<PreparedCase>
}

/** What all cases share. */
export interface Stage {
  readonly clock: Clock
  readonly stampede: Stampede
  readonly connections: number
  readonly roundMs: number
  /** Only to see that everything runs: nothing is tried out beforehand, and the surveys stay small. */
  readonly blink: boolean
}

/** One figure of a survey. `ratio`: to the first figure of its group. */
export interface SurveyFigure {
  readonly group: string
  readonly at: string
  readonly value: number
  readonly unit: string
  readonly ratio?: number
}

export interface SurveyResult {
  readonly name: string
  readonly what: string
  readonly figures: readonly SurveyFigure[]
  readonly violations: readonly string[]
}

export interface Survey {
  readonly name: string
  run(stage: Stage, say: (line: string) => void): Promise<SurveyResult>
}
