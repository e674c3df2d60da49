/**
 * What a case is: a subject measured beside one or more references, in turns, round by round, and a check of what all of it left
 * behind. A case file says what is measured and why the reference is a fair one; how rounds are run and reported lives elsewhere.
 */

import type { Clock } from '../src/base/clock.ts'
import type { LoadResult } from './client/closed-loop.ts'
import type { Stampede } from './servers/stampede.ts'

/** One contestant. `pids`: whose CPU time is its cost. */
export interface Contestant {
  readonly name: string
  readonly serverPid: number
  readonly postgresPid?: number
  /** Everything that is not to be measured (tickets, request bytes) happens before `load` is returned. */
  prepare(forMs: number): Promise<() => Promise<LoadResult>>
}

export interface PreparedCase {
  readonly subject: Contestant
  readonly references: readonly Contestant[]
  /** What was chosen or found on the way, for the report. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Sentences about what must not be; empty when all is well. A fast run that oversells is a failed run. */
  check(): Promise<readonly string[]>
  close(): Promise<void>
}

export interface BenchCase {
  readonly name: string
  readonly what: string
  /** The ratio to the first reference that the project aims at. */
  readonly aim: number
  prepare(stage: Stage): Promise<PreparedCase>
}

/** What all cases share. */
export interface Stage {
  readonly clock: Clock
  readonly stampede: Stampede
  readonly connections: number
}
