/**
 * A server for one rehearsal: a child process with its own PostgreSQL in a temporary folder. It lives as long as the pipe to it is open,
 * so it ends with this process, however that ends; it has its own process group, so Ctrl-C reaches only us.
 * `stop` leaves nothing behind: no process, no folder.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childEnd } from '../../base/child-end.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'

const READY = /stampede ready on (http:\/\/\S+)/
const READY_MS_MAX = 60_000
const STOP_MS_MAX = 20_000
const OUTPUT_MAX = 10_000

/**
 * `command` starts a server that reads its settings, and its folder, from standard input. `discardData` removes its data folder and stops
 * a PostgreSQL that a killed server has left running.
 */
export async function startThrowawayServer(
  command: readonly [string, ...string[]],
  discardData: (dataDir: string) => Promise<void>,
  clock: Clock,
  random: Random,
  stop: AbortSignal,
) {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-rehearsal-'))
  // As root, PostgreSQL runs under another account, which must be able to enter the folder.
  chmodSync(folder, 0o711)
  const secret = () => Buffer.from(random.bytes(24)).toString('base64url')
  const [token, buyerSecret] = [secret(), secret()]
  const settings = {
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: join(folder, 'data'),
    ADMIN_TOKEN: token,
    BUYER_JWT_SECRET: buyerSecret,
    PAYMENT_PROVIDERS: 'sandbox',
    DEMO: 'off',
    LOG_LEVEL: 'error',
  }
  const [program, ...args] = command
  const child = spawn(program, args, { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const notStarted = new Promise(failed => child.once('error', failed))
  const ended = Promise.race([childEnd(child), notStarted]).then(() => undefined)
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

/** The server's address, from its output. */
async function ready(child: ChildProcess, ended: Promise<undefined>, clock: Clock, stop: AbortSignal): Promise<string> {
  let output = ''
  const enough = new AbortController()
  const url = new Promise<string>(found => {
    const read = (chunk: Buffer) => {
      output = (output + chunk.toString('utf8')).slice(-OUTPUT_MAX)
      const match = READY.exec(output)
      if (match !== null) found(match[1]!)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
  })
  const tooLate = clock.sleep(READY_MS_MAX, AbortSignal.any([enough.signal, stop])).then(() => undefined)
  const found = await Promise.race([url, ended, tooLate])
  enough.abort()
  if (found !== undefined) return found
  if (stop.aborted) throw new Fault('interrupted', 'interrupted before the rehearsal began')
  const why = output.trim().split('\n').at(-1) ?? ''
  throw new Fault('server_not_started', `the throwaway server did not start${why === '' ? '' : `: ${why}`}`)
}
