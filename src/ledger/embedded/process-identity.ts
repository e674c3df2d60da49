/**
 * The identity of a process: the system reuses pids. With `/proc` a process is identified by pid, start time and boot; without it (macOS) by
 * pid alone, and a reused pid counts as the old process: safe, because the caller then refuses the folder.
 *
 * A zombie counts as gone: it holds nothing, and under a pid 1 that reaps no children it would stay for ever.
 * Does not see other containers or machines: a folder shared between them is not protected.
 */

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { assert } from '../../base/assert.ts'
import { errnoOf } from './errno.ts'

export const identitySchema = z.object({
  pid: z.int().positive(),
  /** Clock ticks from boot to the start of the process; empty where the system has no such figure. */
  startTicks: z.string(),
  /** Empty where the system has none. */
  bootId: z.string(),
})

export type ProcessIdentity = Readonly<z.infer<typeof identitySchema>>

export function identityOfThisProcess(): ProcessIdentity {
  return { pid: process.pid, startTicks: readStat(process.pid)?.startTicks ?? '', bootId: readBootId() }
}

/** Whether this process, not another one under the same pid, still runs. Unknown counts as yes. */
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
    // EPERM: it runs, under another user.
    if (errnoOf(error) !== 'EPERM') return false
  }
  const state = readStat(pid)?.state
  return state !== 'Z' && state !== 'X'
}

/** Sends a signal; a process that is already gone is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  assert(Number.isSafeInteger(pid) && pid > 1, `${pid} is not a pid to send ${signal} to`)
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error
  }
}

function readStat(pid: number): { readonly state: string; readonly startTicks: string } | undefined {
  const text = readOrEmpty(`/proc/${pid}/stat`)
  if (text === '') return undefined
  // The second field is the command in parentheses, and may itself hold spaces and parentheses: count from the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, startTicks] = [fields[0], fields[19]]
  return state === undefined || startTicks === undefined ? undefined : { state, startTicks }
}

function readBootId(): string {
  return readOrEmpty('/proc/sys/kernel/random/boot_id').trim()
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
