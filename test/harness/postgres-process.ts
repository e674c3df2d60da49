/** The embedded PostgreSQL of a data folder, found by its pid file, and ended without a word or begun again with other settings. */

import { spawn } from 'node:child_process'
import { chownSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './until.ts'

/** The main process, while it runs; undefined when there is none. */
export function postgresPid(dataDir: string): number | undefined {
  const first = read(join(dataDir, 'postgres', 'postmaster.pid')).split('\n')[0] ?? ''
  const pid = Number(first.trim())
  return Number.isSafeInteger(pid) && pid > 1 && isPostgres(pid) ? pid : undefined
}

/** SIGKILL to the main process; returns when it and the processes it had started are gone. Without one: nothing to do. */
export async function killPostgres(dataDir: string): Promise<void> {
  const pid = postgresPid(dataDir)
  if (pid === undefined) return
  const family = [pid, ...childrenOf(pid)]
  process.kill(pid, 'SIGKILL')
  await until('the end of PostgreSQL and its children', () => family.every(one => !isPostgres(one)))
}

/** Stopped, and begun again as it was but with these settings, by nobody who watches over it. Returns before it answers. */
export async function restartPostgres(
  dataDir: string,
  stop: () => Promise<unknown>,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const pid = postgresPid(dataDir)
  const [program = '', ...args] = read(`/proc/${pid}/cmdline`).split('\0').slice(0, -1)
  const status = read(`/proc/${pid}/status`)
  const account = (kind: 'Uid' | 'Gid') => Number(new RegExp(`^${kind}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  const env = Object.fromEntries(
    read(`/proc/${pid}/environ`)
      .split('\0')
      .filter(Boolean)
      .map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  await stop()
  mkdirSync(join(dataDir, 'socket'), { recursive: true })
  chownSync(join(dataDir, 'socket'), account('Uid'), account('Gid'))
  const changed = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const options = { uid: account('Uid'), gid: account('Gid'), env, stdio: 'ignore', detached: true } as const
  spawn(program, [...args, ...changed], options).unref()
}

/** Ends what still works in a test's own folder and names it on its command line: an `initdb` that outlived its server. */
export async function killWorkersIn(folder: string): Promise<void> {
  await until(`the end of everything in ${folder}`, () => {
    const pids = readPids().filter(pid => read(`/proc/${pid}/cmdline`).includes(folder))
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has just ended by itself.
      }
    }
    return pids.length === 0
  })
}

/** What PostgreSQL's main process has started: one per connection, and a handful of its own. */
export function childrenOf(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
}

/** A pid alone is not a name: it must still be a PostgreSQL, and not a dead one. */
function isPostgres(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`)
  if (stat === '') return false
  const state = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[0]
  return stat.includes('(postgres)') && state !== 'Z' && state !== 'X'
}

/** Nobody where the system has no /proc. */
function readPids(): number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter(pid => pid > 1 && pid !== process.pid)
  } catch {
    return []
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
