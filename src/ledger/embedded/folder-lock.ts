/**
 * One Stampede process per data folder. Exactly one of any number of starters gets the folder, also when they find the lock of a
 * process that was killed; a process that dies needs no cleaning up after it.
 *
 * The lock is a row of numbered files, `stampede.1.pid`, `stampede.2.pid` …; the highest number is the lock, its content says who.
 *   free   no file, or the highest is empty (let go) or names a process that is gone
 *   held   the highest names a running process
 * Taking it means making the next number, exclusively and with its content complete (a hard link to a finished file). A stale lock
 * is thus never removed to be taken: removing "the" lock by name could hit the one that a faster starter has just made.
 * Whoever finds a higher number after making its own was too slow, and looks again. Only the holder tidies up lower numbers.
 */

import { linkSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import { errnoOf } from './errno.ts'
import { identityOfThisProcess, isStillRunning, type ProcessIdentity } from './process-identity.ts'

interface FolderLock {
  /** Lets the folder go. Idempotent. */
  release(): void
}

const LOCK_NAME = /^stampede\.(\d{1,15})\.pid$/
const CANDIDATE_NAME = /^stampede\.pid\.[0-9a-f]+$/
/** Each lost round means that another starter won one, or that a holder tidied up; a few are plenty. */
const ROUNDS_MAX = 100

/** Takes the folder for this process, or throws a Fault that names the process which has it. */
export function lockFolder(folder: string, random: Random): FolderLock {
  const candidate = join(folder, `stampede.pid.${Buffer.from(random.bytes(8)).toString('hex')}`)
  try {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const highest = highestLock(folder)
      const holder = highest === 0 ? undefined : readHolder(lockPath(folder, highest))
      if (holder !== undefined && isStillRunning(holder)) throw inUse(folder, holder)

      writeFileSync(candidate, `${JSON.stringify(identityOfThisProcess())}\n`, { mode: 0o644 })
      const mine = highest + 1
      if (!linkExclusively(candidate, lockPath(folder, mine))) continue
      if (highestLock(folder) !== mine) {
        rmSync(lockPath(folder, mine), { force: true })
        continue
      }
      tidyUp(folder, mine)
      return { release: () => letGo(lockPath(folder, mine)) }
    }
  } finally {
    rmSync(candidate, { force: true })
  }
  throw new Fault(
    'embedded_folder_lock',
    `could not lock the data folder ${folder}: too many processes start in it at once`,
  )
}

function inUse(folder: string, holder: ProcessIdentity): Fault {
  const who = holder.pid === process.pid ? 'this very process' : 'another Stampede process'
  return new Fault(
    'embedded_folder_in_use',
    `the data folder ${folder} is in use by ${who} (pid ${holder.pid}); stop that one first, or set DATA_DIR to another folder`,
  )
}

function lockPath(folder: string, number: number): string {
  return join(folder, `stampede.${number}.pid`)
}

function highestLock(folder: string): number {
  return readdirSync(folder).reduce((highest, name) => Math.max(highest, Number(LOCK_NAME.exec(name)?.[1] ?? 0)), 0)
}

/** Nobody when the lock was let go, was tidied up meanwhile, or holds nothing that makes sense (a torn write after a power cut). */
function readHolder(path: string): ProcessIdentity | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const { pid, startTicks, bootId } = JSON.parse(text)
    if (!Number.isSafeInteger(pid) || pid <= 0 || typeof startTicks !== 'string' || typeof bootId !== 'string')
      return undefined
    return { pid, startTicks, bootId }
  } catch {
    return undefined
  }
}

function linkExclusively(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    // EEXIST: another starter was faster. ENOENT: a holder tidied our candidate away.
    if (errnoOf(error) === 'EEXIST' || errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

function tidyUp(folder: string, mine: number): void {
  for (const name of readdirSync(folder)) {
    const number = Number(LOCK_NAME.exec(name)?.[1] ?? mine)
    if (number < mine || CANDIDATE_NAME.test(name)) rmSync(join(folder, name), { force: true })
  }
}

/** Emptied, not removed: a number that was once given must not be given again to a starter that looked long ago. */
function letGo(path: string): void {
  try {
    truncateSync(path, 0)
  } catch (error) {
    // The whole folder may have been deleted by its owner.
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}
