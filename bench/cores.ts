/**
 * Pins processes to cores and reads their CPU time. The server and PostgreSQL get one core, the load the other, so that they do not compete
 * and runs can be compared. CPU time is the kernel's own count; unlike throughput it hardly changes on a shared machine. Without Linux, or
 * with a single core, nothing is pinned and no CPU time is known; the report says so.
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

/** The command line that starts a program, with its children, on the server's core. */
export function onServerCore(command: readonly string[]): readonly [string, ...string[]] {
  const [program, ...args] = canPin ? ['taskset', '-c', SERVER_CORE, ...command] : command
  return [program!, ...args]
}

/** Moves a running program, with all its threads, to the server's core. */
export function placeServer(pid: number): void {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', SERVER_CORE, String(pid)])
}

/** Moves a running program to the load's core. */
export function placeBesideLoad(pid: number): void {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', LOAD_CORE, String(pid)])
}

/** Where PostgreSQL runs: on the server's core, or on any core. */
export type Placement = 'server core' | 'any core'

/** Moves PostgreSQL and its backends; backends that start later inherit it. */
export function placePostgres(pid: number, where: Placement): void {
  if (!canPin) return
  const cores = where === 'server core' ? SERVER_CORE : `0-${availableParallelism() - 1}`
  for (const one of [pid, ...childrenOf(pid)]) spawnSync('taskset', ['-a', '-c', '-p', cores, String(one)])
}

/** CPU time of a process, optionally with its children's, in µs. Undefined where the kernel does not provide it. */
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
  // The name in parentheses may contain anything; the fields begin after the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const field = (no: number) => Number(fields[no - 3])
  return { parent: field(4), ticks: field(14) + field(15), ticksOfTheDead: field(16) + field(17) }
}
