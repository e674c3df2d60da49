/** Runs PostgreSQL's `initdb` once, in an empty folder, under an account. When it returns, everything is written and synced. */

import { spawn } from 'node:child_process'
import { childEnd } from '../../base/child-end.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Account } from './account.ts'
import type { Programs } from './binaries.ts'
import { messageOf } from './errno.ts'

/** The owner of everything in the database. Not a system account. */
export const DATABASE_USER = 'stampede'

/** The whole environment of PostgreSQL's programs: they read dozens of variables. */
export const PROGRAM_ENV = { LC_ALL: 'C', PATH: '/usr/bin:/bin' } as const

const INITDB_MS_MAX = 120_000
const STDERR_CHARS_MAX = 4_000

export async function runInitdb(folder: string, programs: Programs, account: Account | undefined): Promise<void> {
  const child = spawn(
    programs.initdb,
    // Trust: only this account can open the socket's folder (mode 0700), and there is no TCP port.
    ['-D', folder, '-U', DATABASE_USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-instructions'],
    {
      cwd: '/',
      env: PROGRAM_ENV,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(account && { uid: account.uid, gid: account.gid }),
    },
  )
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-STDERR_CHARS_MAX)
  })
  const done = new AbortController()
  const ended = new Promise<string | undefined>(resolve => {
    child.on('error', error => resolve(messageOf(error)))
    void childEnd(child).then(({ code, signal }) =>
      resolve(code === 0 ? undefined : lastLine(stderr) || `ended with ${signal ?? code}`),
    )
  })
  const late = systemClock.sleep(INITDB_MS_MAX, done.signal).then(() => `not done after ${INITDB_MS_MAX / 1000} s`)
  const failure = await Promise.race([ended, late])
  done.abort()
  if (failure === undefined) return
  child.kill('SIGKILL')
  throw new Fault('embedded_initdb', `PostgreSQL could not make its data in ${folder}: ${failure}`)
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? ''
}
