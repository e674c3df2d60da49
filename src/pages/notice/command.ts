/**
 * Runs a program after files in the folder have changed: an upload of the shop's own. It is started in the folder, without a shell and with an
 * environment of its own, and gets a line for each change on its standard input: `put s/123.html` or `removed s/123.html`. Exit code 0 is a yes.
 * A program that takes too long is killed with everything it has started.
 */

import { spawn } from 'node:child_process'
import { homedir } from 'node:os'
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { PageNotice } from '../page-store.ts'

interface UploadCommand {
  /** The program and its arguments. */
  readonly words: readonly string[]
  readonly folder: string
  readonly timeoutMs: number
}

const CHANGES_MAX = 1_000
/** Of what the program complains about, in the log. */
const COMPLAINT_LENGTH_MAX = 300
/** No secret of this process is passed on. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export function createUploadCommand({ words, folder, timeoutMs }: UploadCommand, clock: Clock): PageNotice {
  const [program = '', ...args] = words
  return {
    name: 'command',
    changesMax: CHANGES_MAX,
    async send(changes) {
      const input = changes.map(({ path, what }) => `${what} ${path}\n`).join('')
      const why = await withDeadline(clock, timeoutMs, signal => run(program, args, folder, input, signal))
      if (why !== undefined)
        throw new Fault('pages_not_uploaded', `the command ${program}: ${why}`, { retryable: true })
    },
  }
}

/** Undefined: it went well. */
function run(program: string, args: readonly string[], cwd: string, input: string, signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const env = { PATH, HOME: homedir() }
  // A group of its own, so that what it starts ends with it.
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'ignore', 'pipe'] })
  let complaint = ''
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended already.
    }
  }
  signal.addEventListener('abort', end, { once: true })
  child.stderr.setEncoding('utf8')
  child.stderr.on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-COMPLAINT_LENGTH_MAX)
  })
  // A program that reads nothing is no failure.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  child.once('error', error => resolve((error as NodeJS.ErrnoException).code ?? error.message))
  child.once('close', code => {
    signal.removeEventListener('abort', end)
    if (code === 0) resolve(undefined)
    else if (signal.aborted) resolve('took too long and was ended')
    else resolve(`exit code ${code ?? 'of a signal'}${shown(complaint)}`)
  })
  return promise
}

function shown(complaint: string): string {
  const line = complaint.replace(/[\p{Cc}\s]+/gu, ' ').trim()
  return line === '' ? '' : `: ${line}`
}
