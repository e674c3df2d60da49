/**
 * A case measures a subject and one or more references in alternating rounds, and checks afterwards what they left in the tables. A case
 * file says what is measured and why the reference is fair; `rounds.ts` runs the rounds, `report.ts` prints them.
 * A survey has no rounds (memory, growth): its figures are compared with the first of their group.
 */

import type { Clock } from '../src/base/clock.ts'
import type { LoadResult } from './client/closed-loop.ts'
import type { Stampede } from './servers/stampede.ts'

/** One contestant. The CPU time of its server, and of PostgreSQL where it uses one, is its cost. */
export interface Contestant {
  readonly name: string
  readonly serverPid: number
  /** The server's child processes do the work: a master with a worker. */
  readonly serverHasWorkers?: true
  /** Other processes that do its work too. */
  readonly besidePids?: readonly number[]
  readonly postgresPid?: number
  /** Work that is not measured (tickets, request bytes) is done before `load` is returned. */
  prepare(forMs: number): Promise<() => Promise<LoadResult>>
}

export interface Findings {
  /** What went wrong; empty when nothing did. A fast run that oversells is a failed run. */
  readonly violations: readonly string[]
  /** Contestant → units sold beyond its stock, by its tables afterwards. */
  readonly oversold?: ReadonlyMap<string, number>
}

export interface PreparedCase {
  readonly subject: Contestant
  readonly references: readonly Contestant[]
  /** Settings that were chosen or found, for the report. */
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
  /** Programs that npm does not install. */
  readonly needs?: readonly ('nginx' | 'redis-server')[]
  /** Runs only when it is named, or with `--all`. */
  readonly onlyWhenNamed?: true
  /** Another name that it runs under. */
  readonly alsoNamed?: string
  prepare(stage: Stage): Promise<PreparedCase>
}

/** What all cases share. */
export interface Stage {
  readonly clock: Clock
  readonly stampede: Stampede
  readonly connections: number
  readonly roundMs: number
  /** Only shows that everything runs: no pool sizes are tried, and the surveys stay small. */
  readonly blink: boolean
}

/** One figure of a survey. `ratio`: to the first figure of its group. */
export interface SurveyFigure {
  readonly group: string
  readonly at: string
  readonly value: number
  readonly unit: string
  readonly ratio?: number
  /** What the project aims at for the ratio: `most`, or `least`. */
  readonly aim?: { readonly most?: number; readonly least?: number }
}

export interface SurveyResult {
  readonly name: string
  readonly what: string
  readonly figures: readonly SurveyFigure[]
  readonly violations: readonly string[]
}

export interface Survey {
  readonly name: string
  /** Runs when it is named; the others only with `--all`. */
  readonly byName?: true
  readonly needs?: BenchCase['needs']
  run(stage: Stage, print: (line: string) => void): Promise<SurveyResult>
}
