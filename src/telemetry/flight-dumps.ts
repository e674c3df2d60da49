/**
 * Writes the flight recorder down: one file of JSON lines in the data folder, the first line says of which process and why. Bounded: a file holds
 * the ring, and only the newest few files are kept. What should never happen may happen thousands of times at once: one dump a minute for
 * those; what a person asks for is always written. A folder that can't be written is a line of the log, and nothing else.
 */

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, toRfc3339 } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { FlightRecorder } from './flight-recorder.ts'

interface DumpParts {
  readonly flight: Pick<FlightRecorder, 'last' | 'noted'>
  readonly folder: string
  readonly clock: Clock
  readonly log: Log
  readonly process: { readonly node: () => number; readonly roles: readonly string[]; readonly pid: number }
}

const FILES_MAX = 8
const BY_ITSELF_EVERY_MS = 60_000
const NAME = /^flight-[\w-]+\.jsonl$/

export type FlightDumps = ReturnType<typeof createFlightDumps>

export function createFlightDumps({ flight, folder, clock, log, process }: DumpParts) {
  let dumpedAtMs = Number.NEGATIVE_INFINITY

  function dump(why: string): void {
    const at = toRfc3339(clock.now())
    const name = `flight-${at.replaceAll(/[:.]/g, '')}-${process.pid}-${why}.jsonl`
    const path = join(folder, name)
    const decisions = flight.last()
    const head = { at, why, ...process, node: process.node(), noted: flight.noted(), decisions: decisions.length }
    const lines = decisions.map(({ atMs, ...rest }) => JSON.stringify({ at: toRfc3339(atMs), ...rest }))
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(path, `${[JSON.stringify(head), ...lines].join('\n')}\n`, { mode: 0o600 })
      const old = readdirSync(folder).filter(file => NAME.test(file))
      for (const file of old.toSorted().slice(0, -FILES_MAX)) rmSync(join(folder, file), { force: true })
      log.info({ event: 'flight_dumped', why, path, decisions: decisions.length }, 'last decisions written down')
    } catch (error) {
      log.warn({ event: 'flight_not_dumped', why, path, err: error }, 'last decisions not written down')
    }
  }

  return {
    dump,
    /** For what should never happen: a promise was broken, or an alarm was raised. */
    dumpByItself(why: string): void {
      if (clock.elapsed() - dumpedAtMs < BY_ITSELF_EVERY_MS) return
      dumpedAtMs = clock.elapsed()
      dump(why)
    },
  }
}
