/**
 * One Stampede process per data folder. Of processes that start at once exactly one gets the folder, also when they find the lock of a
 * process that was killed; a dead process's lock needs no cleaning up.
 *
 * The lock is a series of numbered files, `stampede.1.pid`, `stampede.2.pid` …; the highest number is the lock, its content names the holder.
 *   free   no file, or the highest is empty (released) or names a process that is gone
 *   held   the highest names a running process
 * A process takes it by making the next number, exclusively and with its content complete (a hard link to a finished file). A stale lock is
 * never removed to be taken: removing the lock by name could hit the one that a faster process has just made.
 * A process that finds a higher number after making its own tries again. Only the holder removes lower numbers.
 */

import { linkSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import { errnoOf, ifExists } from './errno.ts'
import { identityOfThisProcess, identitySchema, isStillRunning, type ProcessIdentity } from './process-identity.ts'

interface FolderLock extends Disposable {
  /** Idempotent. */
  release(): void
}

const LOCK_NAME = /^stampede\.(\d{1,15})\.pid$/
const CANDIDATE_NAME = /^stampede\.pid\.[0-9a-f]+$/
/** Each lost round means that another process won it, or that a holder removed a file; a few are enough. */
const ROUNDS_MAX = 100

/** Takes the folder for this process, or throws a Fault that names the process which has it. */
export function lockFolder(folder: string): FolderLock {
  const candidate = join(folder, `stampede.pid.${Buffer.from(systemRandom.bytes(8)).toString('hex')}`)
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
      removeOlder(folder, mine)
      // Emptied, not removed: a number must not be given again to a process that read the folder long ago. The operator may have
      // deleted the whole folder.
      const release = () => void ifExists(() => truncateSync(lockPath(folder, mine), 0))
      return { release, [Symbol.dispose]: release }
    }
  } finally {
    rmSync(candidate, { force: true })
  }
  throw new Fault(
    'embedded_folder_lock',
    `could not lock the data folder ${folder}: too many processes start in it at once`,
  )
}

/** Undefined when another process, or this one, has the folder. */
export function tryLockFolder(folder: string): FolderLock | undefined {
  try {
    return lockFolder(folder)
  } catch (error) {
    if (error instanceof Fault && error.code === 'embedded_folder_in_use') return undefined
    throw error
  }
}

function inUse(folder: string, holder: ProcessIdentity): Fault {
  const who = holder.pid === process.pid ? 'this very process' : 'another Stampede process'
  return new Fault(
    'embedded_folder_in_use',
    `the data folder ${folder} is in use by ${who} (pid ${holder.pid}); stop that one first, or set DATA_DIR to another folder`,
  )
}

/** A lock, or what a process needs while it takes one. */
export function isLockFile(name: string): boolean {
  return LOCK_NAME.test(name) || CANDIDATE_NAME.test(name)
}

function lockPath(folder: string, number: number): string {
  return join(folder, `stampede.${number}.pid`)
}

function highestLock(folder: string): number {
  return readdirSync(folder).reduce((highest, name) => Math.max(highest, Number(LOCK_NAME.exec(name)?.[1] ?? 0)), 0)
}

/** Undefined when the lock was released, was removed meanwhile, or can't be parsed (a torn write after a power cut). */
function readHolder(path: string): ProcessIdentity | undefined {
  const text = ifExists(() => readFileSync(path, 'utf8')) ?? ''
  try {
    return identitySchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

function linkExclusively(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    // EEXIST: another process was faster. ENOENT: a holder removed our candidate.
    if (errnoOf(error) === 'EEXIST' || errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

function removeOlder(folder: string, mine: number): void {
  for (const name of readdirSync(folder)) {
    const number = Number(LOCK_NAME.exec(name)?.[1] ?? mine)
    if (number < mine || CANDIDATE_NAME.test(name)) rmSync(join(folder, name), { force: true })
  }
}
