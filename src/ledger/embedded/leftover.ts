/**
 * Ends the PostgreSQL of an earlier process that was killed, or what a killed PostgreSQL left behind, so that a new one can start on the same
 * data. Only the holder of the folder's lock calls it: a PostgreSQL on this data then has no owner.
 * Nothing committed is lost: each step down from the orderly stop costs the next start a recovery, and no more.
 *
 * Processes are recognised by their command line, which any user may read: folder and program are hidden from root in a container.
 * The main process shows `-D <folder>`, the others the cluster's name, a hash of that folder.
 */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from './data-folder.ts'
import { ifExists } from './errno.ts'
import { isRunning, sendSignal } from './process-identity.ts'
import { socketPath } from './socket-folder.ts'

const LOOK_EVERY_MS = 10
/** Orderly (with a checkpoint), at once (recovery at the next start), and the last resort. */
const STEPS = [
  ['SIGINT', 10_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
] as const
const ORPHAN_STEPS = [
  ['SIGQUIT', 2_000],
  ['SIGKILL', 5_000],
] as const

/** The name that every process of the PostgreSQL on this data shows. */
export function clusterNameOf(dataFolder: string): string {
  return `stampede-${createHash('sha256').update(dataFolder).digest('hex').slice(0, 16)}`
}

/** The folder of the socket of the PostgreSQL that runs on this data; undefined when none runs, or it is only starting. */
export function runningSocketFolder(dataFolder: string): string | undefined {
  const { pid, socketFolder } = readPidFile(dataFolder)
  return pid !== undefined && isRunning(pid) ? socketFolder || undefined : undefined
}

/** Afterwards no process runs on the data, and no file of an earlier run prevents a start. */
export async function clearLeftover(dataFolder: string, socketFolder: string, log: Log): Promise<void> {
  const postmaster = readPidFile(dataFolder).pid
  if (postmaster !== undefined && processesOn(dataFolder).includes(postmaster)) {
    log('warn', `PostgreSQL of an earlier process still runs (pid ${postmaster}); stopping it`)
    await endPostmaster(postmaster, () => !isRunning(postmaster))
  }
  await endOrphans(dataFolder, log)

  // A pid that now belongs to another program (or to a zombie) would keep PostgreSQL from starting. If it is a PostgreSQL, on
  // whatever data, PostgreSQL decides.
  if (postmaster !== undefined && !(isRunning(postmaster) && isPostgres(postmaster)))
    rmSync(join(dataFolder, 'postmaster.pid'), { force: true })
  for (const path of [socketPath(socketFolder), `${socketPath(socketFolder)}.lock`]) rmSync(path, { force: true })
}

/** From the orderly stop to the last resort, until `isGone`. A stopped process (SIGSTOP) is woken to receive the signal. */
export async function endPostmaster(pid: number, isGone: () => boolean): Promise<void> {
  for (const [signal, waitMs] of STEPS) {
    if (isGone()) return
    sendSignal(pid, signal)
    sendSignal(pid, 'SIGCONT')
    if (await waitFor(isGone, waitMs)) return
  }
  throw new Fault('embedded_leftover', `PostgreSQL (pid ${pid}) does not end, not even when killed`, {
    retryable: true,
  })
}

/** Ends server processes that outlived their main process: one in a long computation holds the shared memory that a new PostgreSQL needs. */
export async function endOrphans(dataFolder: string, log: Log): Promise<void> {
  let orphans = processesOn(dataFolder)
  if (orphans.length === 0) return
  log('warn', `ending ${orphans.length} processes that a killed PostgreSQL left behind (pid ${orphans.join(', ')})`)
  for (const [signal, waitMs] of ORPHAN_STEPS) {
    for (const pid of orphans) {
      sendSignal(pid, signal)
      sendSignal(pid, 'SIGCONT')
    }
    await waitFor(() => !orphans.some(isRunning), waitMs)
    orphans = processesOn(dataFolder)
    if (orphans.length === 0) return
  }
  throw new Fault('embedded_leftover', `processes of an earlier PostgreSQL do not end (pid ${orphans.join(', ')})`, {
    retryable: true,
  })
}

async function waitFor(condition: () => boolean, waitMs: number): Promise<boolean> {
  const until = systemClock.elapsed() + waitMs
  while (!condition()) {
    if (systemClock.elapsed() >= until) return false
    await systemClock.sleep(LOOK_EVERY_MS)
  }
  return true
}

function readPidFile(dataFolder: string): { readonly pid: number | undefined; readonly socketFolder: string } {
  const lines = ifExists(() => readFileSync(join(dataFolder, 'postmaster.pid'), 'utf8'))?.split('\n') ?? []
  const pid = Number(lines[0])
  return { pid: Number.isSafeInteger(pid) && pid > 1 ? pid : undefined, socketFolder: lines[4] ?? '' }
}

function processesOn(dataFolder: string): number[] {
  const title = `postgres: ${clusterNameOf(dataFolder)}: `
  if (!existsSync('/proc/self/cmdline')) {
    // ps joins the arguments by spaces, so the match is on the text.
    return listWithPs()
      .filter(({ command }) => command.includes(`/postgres -D ${dataFolder} -c `) || command.startsWith(title))
      .map(({ pid }) => pid)
  }
  return readdirSync('/proc')
    .filter(name => /^[1-9]\d*$/.test(name))
    .map(Number)
    .filter(pid => {
      const [program = '', flag, folder] = argumentsOf(pid)
      return program.startsWith(title) || (basename(program) === 'postgres' && flag === '-D' && folder === dataFolder)
    })
    .filter(isRunning)
}

function isPostgres(pid: number): boolean {
  if (!existsSync('/proc/self/cmdline'))
    return listWithPs().some(one => one.pid === pid && one.command.includes('postgres'))
  const [program = ''] = argumentsOf(pid)
  return basename(program) === 'postgres' || program.startsWith('postgres: ')
}

/** Empty for a process that is gone or a zombie. */
function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

function listWithPs(): { pid: number; command: string }[] {
  const table = execFileSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 16 << 20 })
  return table.split('\n').flatMap(line => {
    const match = /^\s*(\d+)\s+(.*)$/.exec(line)
    return match ? [{ pid: Number(match[1]), command: match[2] ?? '' }] : []
  })
}
