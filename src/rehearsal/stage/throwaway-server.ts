/**
 * A server for this rehearsal only: a process of its own with its own PostgreSQL in a folder under the temporary one. It lives as long
 * as the pipe to it is open, so it ends with us however we end; it stands in a process group of its own, so a Ctrl-C is ours alone.
 * Stopped, nothing of it is left: no process, no folder.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childEnd } from '../../base/child-end.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import type { Place } from './stage.ts'

interface ThrowawayServer extends Place {
  /** What the shop signs its buyers' tokens with. */
  readonly buyerSecret: string
  stop(): Promise<void>
}

const READY = /stampede ready on (http:\/\/\S+)/
const READY_MS_MAX = 60_000
const STOP_MS_MAX = 20_000

/**
 * `command`: what starts a server that reads its settings, and where to tidy up, from its standard input. `discardData`: takes its data
 * folder away, and what a server that was killed has left running on it.
 */
export async function startThrowawayServer(
  command: readonly [string, ...string[]],
  discardData: (dataDir: string) => Promise<void>,
  clock: Clock,
  random: Random,
  stop: AbortSignal,
): Promise<ThrowawayServer> {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-rehearsal-'))
  // Root lends PostgreSQL another account, which must be able to pass through.
  chmodSync(folder, 0o711)
  const secret = () => Buffer.from(random.bytes(24)).toString('base64url')
  const [token, buyerSecret] = [secret(), secret()]
  const settings = {
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: join(folder, 'data'),
    ADMIN_TOKEN: token,
    BUYER_JWT_SECRET: buyerSecret,
    DEMO: 'off',
    LOG_LEVEL: 'error',
  }
  const [program, ...args] = command
  const child = spawn(program, args, { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const ended = new Promise<void>(done => {
    void childEnd(child).then(() => done())
    child.once('error', () => done())
  })
  child.stdin.on('error', () => {})
  child.stdin.write(`${JSON.stringify({ folder, settings })}\n`)

  const end = async () => {
    child.stdin.end()
    const gaveUp = new AbortController()
    await Promise.race([ended, clock.sleep(STOP_MS_MAX, gaveUp.signal)])
    gaveUp.abort()
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await ended
    await discardData(settings.DATA_DIR)
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
  try {
    return { url: await ready(child, ended, clock, stop), token, buyerSecret, stop: end }
  } catch (error) {
    await end()
    throw error
  }
}

async function ready(child: ChildProcess, ended: Promise<void>, clock: Clock, stop: AbortSignal): Promise<string> {
  let said = ''
  const enough = new AbortController()
  stop.addEventListener('abort', () => enough.abort(), { once: true })
  const url = new Promise<string>(found => {
    const hear = (chunk: Buffer) => {
      said = (said + chunk.toString('utf8')).slice(-10_000)
      const match = READY.exec(said)
      if (match !== null) found(match[1]!)
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
  })
  const found = await Promise.race([
    url,
    ended.then(() => undefined),
    clock.sleep(READY_MS_MAX, enough.signal).then(() => undefined),
  ])
  enough.abort()
  if (found !== undefined) return found
  if (stop.aborted) throw new Fault('interrupted', 'interrupted before the rehearsal began')
  const why = said.trim().split('\n').at(-1) ?? ''
  throw new Fault('server_not_started', `the throwaway server did not start${why === '' ? '' : `: ${why}`}`)
}
