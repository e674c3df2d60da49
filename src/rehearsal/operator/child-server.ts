/**
 * A server as a child process, for one rehearsal. It gets its task on standard input and lives as long as that pipe is open, so it ends
 * with this process, however that ends; it has its own process group, so Ctrl-C reaches only us.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { childEnd } from '../../base/child-end.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'

const READY = /ready on (http:\/\/\S+)/
const READY_MS_MAX = 120_000
const STOP_MS_MAX = 20_000
const OUTPUT_MAX = 10_000

/** The program and its arguments. */
export type ServerCommand = readonly [string, ...string[]]

interface ChildServer {
  /** What it is called when it does not start. */
  readonly name: string
  readonly command: ServerCommand
  readonly folder: string
  readonly task: unknown
  readonly clock: Clock
  readonly stop: AbortSignal
}

/** Resolves when it has printed its address; throws a Fault, with nothing left running, when it does not. */
export async function startChildServer({ name, command, folder, task, clock, stop }: ChildServer) {
  const [program, ...args] = command
  const child = spawn(program, args, { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const notStarted = new Promise(failed => child.once('error', failed))
  const ended = Promise.race([childEnd(child), notStarted]).then(() => undefined)
  child.stdin.on('error', () => {})
  child.stdin.write(`${JSON.stringify(task)}\n`)

  const end = async () => {
    child.stdin.end()
    const gaveUp = new AbortController()
    await Promise.race([ended, clock.sleep(STOP_MS_MAX, gaveUp.signal)])
    gaveUp.abort()
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await ended
  }
  try {
    return { url: await ready(name, child, ended, clock, stop), stop: end }
  } catch (error) {
    await end()
    throw error
  }
}

/** The server's address, from its output. */
async function ready(
  name: string,
  child: ChildProcess,
  ended: Promise<undefined>,
  clock: Clock,
  stop: AbortSignal,
): Promise<string> {
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
  throw new Fault('server_not_started', `the ${name} did not start${why === '' ? '' : `: ${why}`}`)
}
