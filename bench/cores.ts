/**
 * Which core runs what, and what it costs. The server and PostgreSQL get one core, the load the other, so that neither steals from the
 * other and runs can be compared. CPU time comes from the kernel's own books and hardly moves when the machine is shared, which
 * throughput does. Without Linux (or with a single core) nothing is pinned and no CPU time is known; the report says so.
 */

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const SERVER_CORE = '0'
const LOAD_CORE = '1'
/** Linux counts CPU time in ticks of 10 ms on every platform that Bun runs on. */
const TICK_MICROS = 10_000

export const canPin =
  process.platform === 'linux' && availableParallelism() >= 2 && spawnSync('taskset', ['--version']).status === 0

/** Puts this process, the load's, on the load's core. */
export function pinLoad(): void {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', LOAD_CORE, String(process.pid)])
}

/** The command line that starts a program on the server's core. What it starts in turn stays there too. */
export function onServerCore(command: readonly string[]): readonly [string, ...string[]] {
  const [program, ...args] = canPin ? ['taskset', '-c', SERVER_CORE, ...command] : command
  return [program!, ...args]
}

/** Puts a program that runs already, with all its threads, on the server's core. */
export function placeServer(pid: number): void {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', SERVER_CORE, String(pid)])
}

/** Where PostgreSQL runs: beside the server, or wherever the scheduler likes. */
export type Placement = 'server core' | 'any core'

/** Moves PostgreSQL, with the backends it has; those to come follow it. */
export function placePostgres(pid: number, where: Placement): void {
  if (!canPin) return
  const cores = where === 'server core' ? SERVER_CORE : `0-${availableParallelism() - 1}`
  for (const one of [pid, ...childrenOf(pid)]) spawnSync('taskset', ['-a', '-c', '-p', cores, String(one)])
}

/** CPU time of a process, with its children's when asked for, in µs. Undefined where the kernel does not say. */
export function cpuMicros(pid: number, withChildren = false): number | undefined {
  const own = statOf(pid)
  if (own === undefined) return undefined
  let ticks = own.ticks
  if (withChildren) {
    ticks += own.ticksOfTheDead
    for (const child of childrenOf(pid)) ticks += statOf(child)?.ticks ?? 0
  }
  return ticks * TICK_MICROS
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter(name => /^[0-9]+$/.test(name))
    .map(Number)
    .filter(one => statOf(one)?.parent === pid)
}

function statOf(pid: number): { parent: number; ticks: number; ticksOfTheDead: number } | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The name in brackets may hold anything; what counts begins after the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const field = (no: number) => Number(fields[no - 3])
  return { parent: field(4), ticks: field(14) + field(15), ticksOfTheDead: field(16) + field(17) }
}
