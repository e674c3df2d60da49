/** A server as a child process on the server's core. */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Target } from '../../src/rehearsal/client/connection.ts'
import { onServerCore } from '../cores.ts'
import { endable } from '../endable.ts'

export interface Child {
  readonly pid: number
  readonly target: Target
  stop(): Promise<void>
}

/** The answer of a constant server to every request. */
export interface ConstantAnswer {
  readonly status: number
  /** Besides those that every server adds: date, length. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const READY_MS_MAX = 60_000

/** Starts `file`, a path of its own or one from here, with this very Bun and returns when it printed a line with `ready on http://host:port`. */
export async function startChild(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Child> {
  const [program, ...rest] = onServerCore([process.execPath, fileURLToPath(new URL(file, import.meta.url)), ...args])
  // The caller's environment is not passed on: the bench would fill the database of its DATABASE_URL with orders.
  const child = spawn(program, rest, {
    env: { PATH: process.env.PATH ?? '', ...allocator(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const ready = Promise.withResolvers<Target>()
  createInterface({ input: child.stdout }).on('line', line => {
    const match = /ready on http:\/\/([^:/]+):([0-9]+)/.exec(line)
    if (match !== null) ready.resolve({ host: match[1]!, port: Number(match[2]) })
  })
  child.once('error', ready.reject)
  child.once('exit', (code, signal) => ready.reject(new Error(`${file} ended while starting (${signal ?? code})`)))
  const late = setTimeout(() => ready.reject(new Error(`${file} was not ready in time`)), READY_MS_MAX)
  const stop = endable(async () => {
    child.kill('SIGTERM')
    await ended
  })
  try {
    return { pid: child.pid!, target: await ready.promise, stop }
  } catch (error) {
    if (child.pid !== undefined) await stop()
    throw error
  } finally {
    clearTimeout(late)
  }
}

/** The allocator's setting of `bin/bun.mjs`, for every server alike. */
function allocator(): Readonly<Record<string, string>> {
  const { MIMALLOC_PURGE_DELAY: delay } = process.env
  return delay === undefined ? {} : { MIMALLOC_PURGE_DELAY: delay }
}

export function startConstant({ status, headers, body }: ConstantAnswer): Promise<Child> {
  return startChild('./constant.ts', [String(status), JSON.stringify(headers), body], {})
}
