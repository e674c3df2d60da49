/**
 * Real Redis servers for tests: each with a folder and a port of its own, on loopback, set as a cluster of ours wants it (every write on
 * disk before it is answered, nothing evicted) unless the test says otherwise. One can be killed, stopped and started again on the same
 * port, files and settings; whatever the test does, it is gone when the playground is undone.
 *
 * Its settings are given at the start and never written to a file: what a test sets at run time (`REPLICAOF`, `CONFIG SET`) is gone after
 * a restart. `command` opens a connection of its own for each call and has nothing to do with the client under test.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childEnd } from '../../src/base/child-end.ts'
import { systemClock } from '../../src/base/clock.ts'
import { freePort } from './free-port.ts'
import type { Playground } from './playground.ts'
import { parseReply } from './redis-reply.ts'
import { until, within } from './until.ts'

const PROGRAM = '/usr/bin/redis-server'
const HOST = '127.0.0.1'
const PORTS_TRIED_MAX = 5
const START_MS_MAX = 120_000
const STOP_MS_MAX = 60_000
const COMMAND_MS_MAX = 30_000
/** How long the same port is tried again when somebody is still on it. */
const PORT_AGAIN_MS_MAX = 30_000
const PORT_AGAIN_EVERY_MS = 50

/** Lines of a redis.conf. A later line wins over an earlier one. */
const CONFIG = [
  'appendonly yes',
  'appendfsync always',
  'auto-aof-rewrite-percentage 0',
  'maxmemory-policy noeviction',
  'save ""',
  `bind ${HOST}`,
  'protected-mode yes',
  'daemonize no',
  'repl-diskless-sync-delay 0',
  'repl-ping-replica-period 1',
]

interface RedisOptions {
  /** Lines of a redis.conf, after the usual ones. */
  readonly config?: readonly string[]
  /** A folder with files to begin with. Not removed at the end: it is the test's. */
  readonly dir?: string
  readonly port?: number
}

class PortTaken extends Error {}

export class RedisServer {
  readonly port: number
  readonly url: string
  readonly dir: string
  readonly #config: readonly string[]
  #child: ChildProcess | undefined
  #ended: Promise<void> = Promise.resolve()
  #output = ''

  constructor(port: number, dir: string, config: readonly string[]) {
    this.port = port
    this.url = `redis://${HOST}:${port}`
    this.dir = dir
    this.#config = config
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error('this Redis does not run')
    return this.#child.pid
  }

  /** Everything it has printed since it was last started. */
  output(): string {
    return this.#output
  }

  /** Starts it, again on the same port, files and settings; returns when it has loaded what it has and answers. */
  async start(): Promise<void> {
    const lateMs = systemClock.elapsed() + PORT_AGAIN_MS_MAX
    for (;;) {
      try {
        return await this.startOnce()
      } catch (error) {
        if (!(error instanceof PortTaken) || systemClock.elapsed() > lateMs) throw error
        await systemClock.sleep(PORT_AGAIN_EVERY_MS)
      }
    }
  }

  /** Like `start`, without another try when the port is taken. */
  async startOnce(): Promise<void> {
    if (this.#child !== undefined) throw new Error('this Redis runs already')
    this.#output = ''
    const child = spawn(PROGRAM, ['-'], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child = child
    const hear = (chunk: Buffer) => {
      this.#output += chunk.toString('utf8')
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    // It may have ended before it read its settings; why, its output says.
    child.stdin.on('error', () => {})
    this.#ended = new Promise(resolve => {
      child.once('error', error => {
        this.#output += error.message
        this.#child = undefined
        resolve()
      })
      void childEnd(child).then(() => {
        this.#child = undefined
        resolve()
      })
    })
    child.stdin.end([...CONFIG, `port ${this.port}`, `dir ${this.dir}`, ...this.#config, ''].join('\n'))
    await until(
      `Redis on port ${this.port}`,
      async () => {
        if (this.#child !== child) {
          if (/Address already in use/i.test(this.#output)) throw new PortTaken(this.#output)
          throw new Error(`Redis ended while it was started:\n${this.#output}`)
        }
        // Another's Redis on this port would answer too; and this one does while it still reads its files.
        const told = String(await this.command('INFO').catch(() => ''))
        return told.includes(`\nprocess_id:${child.pid}\r`) && told.includes('\nloading:0\r')
      },
      START_MS_MAX,
    )
  }

  /** SIGKILL: no last word to its clients, its replicas or its disk. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#ended
  }

  /** SIGTERM: it closes its files and says so. */
  async stop(): Promise<void> {
    this.#child?.kill('SIGTERM')
    await within('the end of Redis after SIGTERM', STOP_MS_MAX, this.#ended)
  }

  running(): boolean {
    return this.#child !== undefined
  }

  /** One command on a connection of its own. A refusal of the server is an Error with its words. */
  command(...args: readonly string[]): Promise<unknown> {
    return commandAt(this.port, args)
  }

  /** A field of `INFO`. */
  async info(field: string): Promise<string> {
    const found = new RegExp(`^${field}:(.*?)\r?$`, 'm').exec(String(await this.command('INFO', 'everything')))
    if (found === null) throw new Error(`Redis says nothing of ${field}`)
    return found[1]!
  }
}

export function commandAt(port: number, args: readonly string[]): Promise<unknown> {
  const reply = Promise.withResolvers<unknown>()
  const socket = createConnection(port, HOST)
  let heard = Buffer.alloc(0)
  socket.setTimeout(COMMAND_MS_MAX, () => reply.reject(new Error(`Redis did not answer ${args[0]} in time`)))
  socket.on('error', reply.reject)
  socket.on('close', () => reply.reject(new Error(`Redis hung up before it answered ${args[0]}`)))
  socket.on('data', (chunk: Buffer) => {
    heard = Buffer.concat([heard, chunk])
    const parsed = parseReply(heard)
    if (parsed === undefined) return
    if (parsed.value instanceof Error) reply.reject(parsed.value)
    else reply.resolve(parsed.value)
  })
  socket.write(`*${args.length}\r\n${args.map(arg => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('')}`)
  return reply.promise.finally(() => socket.destroy())
}

export async function startRedis(playground: Playground, options: RedisOptions = {}): Promise<RedisServer> {
  const dir = options.dir ?? ownFolder(playground)
  for (let tried = 1; ; tried++) {
    const server = new RedisServer(options.port ?? (await freePort()), dir, options.config ?? [])
    playground.onUndo(() => server.kill())
    try {
      await server.startOnce()
      return server
    } catch (error) {
      if (!(error instanceof PortTaken) || options.port !== undefined || tried === PORTS_TRIED_MAX) throw error
    }
  }
}

/**
 * A replica that has everything its primary has, and follows it.
 * @param via the port to reach the primary at: its own, or that of a relay which the test can cut
 */
export async function startReplica(
  playground: Playground,
  primary: RedisServer,
  { via = primary.port, ...options }: RedisOptions & { readonly via?: number } = {},
): Promise<RedisServer> {
  const replica = await startRedis(playground, options)
  await replica.command('REPLICAOF', HOST, String(via))
  await caughtUp(primary, replica)
  return replica
}

/** Returns when the replica has what the primary had when this was called. */
export async function caughtUp(primary: RedisServer, replica: RedisServer): Promise<void> {
  const there = Number(await primary.info('master_repl_offset'))
  await until('the replica to catch up', async () => {
    if ((await replica.info('role')) !== 'slave' || (await replica.info('master_link_status')) !== 'up') return false
    return (
      (await replica.info('master_replid')) === (await primary.info('master_replid')) &&
      Number(await replica.info('slave_repl_offset')) >= there
    )
  })
}

/** The replica becomes a primary, with what it has. */
export async function promote(replica: RedisServer): Promise<void> {
  await replica.command('REPLICAOF', 'NO', 'ONE')
}

function ownFolder(playground: Playground): string {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-redis-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  return folder
}
