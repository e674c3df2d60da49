/**
 * Which process is meant: a pid alone is not a name, the system hands it out again. With `/proc` a process is known by pid, start
 * time and boot; without it (macOS) by pid alone, and a recycled pid is then taken for the old process: the safe side, since the
 * caller refuses instead of sharing a folder.
 *
 * A zombie counts as gone: it holds nothing any more, and under a pid 1 that reaps no children it would stay for ever.
 * Does not see into other containers or machines: a folder shared between them is not protected by anything here.
 */

import { readFileSync } from 'node:fs'
import { assert } from '../../base/assert.ts'
import { errnoOf } from './errno.ts'

export interface ProcessIdentity {
  readonly pid: number
  /** Clock ticks from boot to the start of the process; empty where the system doesn't tell. */
  readonly startTicks: string
  /** Empty where the system doesn't tell. */
  readonly bootId: string
}

export function identityOfThisProcess(): ProcessIdentity {
  return { pid: process.pid, startTicks: readStat(process.pid)?.startTicks ?? '', bootId: readBootId() }
}

/** Whether this very process, not another one under the same pid, still runs. In doubt: yes. */
export function isStillRunning(identity: ProcessIdentity): boolean {
  const bootId = readBootId()
  if (identity.bootId !== '' && bootId !== '' && identity.bootId !== bootId) return false
  if (!isRunning(identity.pid)) return false
  const startTicks = readStat(identity.pid)?.startTicks
  return startTicks === undefined || identity.startTicks === '' || startTicks === identity.startTicks
}

/** Whether any process runs under this pid. */
export function isRunning(pid: number): boolean {
  // 0 and below address whole process groups, never one process.
  assert(Number.isSafeInteger(pid) && pid > 0, `${pid} is not a pid`)
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: there is one, of another user.
    if (errnoOf(error) !== 'EPERM') return false
  }
  const state = readStat(pid)?.state
  return state !== 'Z' && state !== 'X'
}

/** Sends a signal; a process that is already gone is what the sender wanted. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  assert(Number.isSafeInteger(pid) && pid > 1, `${pid} is not a pid to send ${signal} to`)
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error
  }
}

function readStat(pid: number): { readonly state: string; readonly startTicks: string } | undefined {
  const text = readOrNothing(`/proc/${pid}/stat`)
  if (text === '') return undefined
  // The second field is the command in parentheses, and may itself hold spaces and parentheses: count from the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, startTicks] = [fields[0], fields[19]]
  return state === undefined || startTicks === undefined ? undefined : { state, startTicks }
}

function readBootId(): string {
  return readOrNothing('/proc/sys/kernel/random/boot_id').trim()
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
