/**
 * A real Redis with two replicas, and three sentinels that watch over it and promote one of them when it dies. Each can be killed and
 * started again by itself; sentinels write their state into a file of their own, which is why they are started from one. Nothing of it is
 * left when the playground is undone.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import type { Playground } from './playground.ts'
import { commandAt, type RedisServer, startRedis, startReplica } from './redis.ts'
import { until } from './until.ts'

const PROGRAM = '/usr/bin/redis-server'
const HOST = '127.0.0.1'
const SENTINELS = 3
const QUORUM = 2
const READY_MS_MAX = 120_000
/** Lines of a redis.conf, for a server that may become the primary at any time. */
const CONFIG = ['appendfsync everysec', 'min-replicas-to-write 1', 'min-replicas-max-lag 10']

interface SentinelOptions {
  /** How long the primary must be silent. Short makes failovers quick; long keeps a busy machine from causing any. */
  readonly downAfterMs?: number
  readonly password?: string
}

class SentinelProcess {
  readonly port: number
  readonly #file: string
  #child: ChildProcess | undefined
  #ended: Promise<void> = Promise.resolve()

  constructor(port: number, file: string) {
    this.port = port
    this.#file = file
  }

  async start(): Promise<void> {
    const child = spawn(PROGRAM, [this.#file, '--sentinel'], { stdio: 'ignore' })
    this.#child = child
    this.#ended = new Promise(resolve => {
      child.once('error', () => resolve())
      child.once('close', () => resolve())
    })
    await until(
      `a sentinel on port ${this.port}`,
      async () => {
        const told = String(await this.command('INFO', 'server').catch(() => ''))
        return told.includes(`process_id:${child.pid}\r`)
      },
      READY_MS_MAX,
    )
  }

  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#ended
  }

  command(...args: readonly string[]): Promise<unknown> {
    return commandAt(this.port, args)
  }
}

export class WatchedRedis {
  readonly name = 'till'
  readonly servers: readonly RedisServer[]
  readonly sentinels: readonly SentinelProcess[]
  readonly url: string

  private constructor(servers: readonly RedisServer[], sentinels: readonly SentinelProcess[], password = '') {
    this.servers = servers
    this.sentinels = sentinels
    const who = password === '' ? '' : `:${password}@`
    this.url = `redis-sentinel://${who}${sentinels.map(({ port }) => `${HOST}:${port}`).join(',')}/${this.name}`
  }

  static async start(playground: Playground, options: SentinelOptions = {}): Promise<WatchedRedis> {
    const { downAfterMs = 30_000, password } = options
    const primary = await startRedis(playground, { config: CONFIG })
    const replicas = [
      await startReplica(playground, primary, { config: CONFIG }),
      await startReplica(playground, primary, { config: CONFIG }),
    ]
    const servers = [primary, ...replicas]
    if (password !== undefined)
      for (const server of servers)
        await server.command('CONFIG', 'SET', 'masterauth', password, 'requirepass', password)
    const sentinels: SentinelProcess[] = []
    for (let i = 0; i < SENTINELS; i++) sentinels.push(await startSentinel(playground, primary, downAfterMs, password))
    const watched = new WatchedRedis(servers, sentinels, password)
    await watched.whole()
    return watched
  }

  /** Returns when every sentinel knows of the others and of both replicas. */
  async whole(): Promise<void> {
    await until(
      'sentinels that know everybody',
      async () => {
        for (const sentinel of this.sentinels) {
          const fields = await this.#askOf(sentinel)
          if (Number(fields.get('num-other-sentinels')) < SENTINELS - 1) return false
          if (Number(fields.get('num-slaves')) < this.servers.length - 1) return false
        }
        return true
      },
      READY_MS_MAX,
    )
  }

  /** Returns when the first sentinel has noticed that so many of the others are gone. */
  async sentinelsDown(count: number): Promise<void> {
    await until(
      'sentinels that are missed',
      async () => {
        const others = (await this.sentinels[0]!.command('SENTINEL', 'SENTINELS', this.name)) as unknown[][]
        return others.filter(fields => String(fields[fields.indexOf('flags') + 1]).includes('s_down')).length >= count
      },
      READY_MS_MAX,
    )
  }

  /** Whom most of the sentinels call the primary. */
  async primary(): Promise<RedisServer> {
    const seen = new Map<number, number>()
    for (const sentinel of this.sentinels) {
      const port = Number((await this.#askOf(sentinel)).get('port'))
      seen.set(port, (seen.get(port) ?? 0) + 1)
    }
    const [port] = [...seen].toSorted((a, b) => b[1] - a[1])[0] ?? []
    const found = this.servers.find(server => server.port === port)
    if (found === undefined) throw new Error('the sentinels name a server of somebody else')
    return found
  }

  /** Returns when the sentinels name another than this one. */
  async failedOver(from: RedisServer): Promise<RedisServer> {
    const other = async () => {
      const primary = await this.primary().catch(() => from)
      return primary === from ? undefined : primary
    }
    return until('another primary', other, READY_MS_MAX)
  }

  async #askOf(sentinel: SentinelProcess): Promise<ReadonlyMap<string, string>> {
    const list = (await sentinel.command('SENTINEL', 'MASTER', this.name).catch(() => [])) as unknown[]
    const fields = new Map<string, string>()
    for (let i = 0; i + 1 < list.length; i += 2) fields.set(String(list[i]), String(list[i + 1]))
    return fields
  }
}

async function startSentinel(
  playground: Playground,
  primary: RedisServer,
  downAfterMs: number,
  password: string | undefined,
): Promise<SentinelProcess> {
  const dir = mkdtempSync(join(tmpdir(), 'stampede-sentinel-'))
  playground.onUndo(() => rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  const port = await freePort()
  const file = join(dir, 'sentinel.conf')
  const lines = [
    `port ${port}`,
    `bind ${HOST}`,
    `dir ${dir}`,
    'daemonize no',
    `sentinel monitor till ${HOST} ${primary.port} ${QUORUM}`,
    `sentinel down-after-milliseconds till ${downAfterMs}`,
    'sentinel failover-timeout till 3000',
    'sentinel parallel-syncs till 2',
    ...(password === undefined ? [] : [`sentinel auth-pass till ${password}`]),
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const sentinel = new SentinelProcess(port, file)
  playground.onUndo(() => sentinel.kill())
  await sentinel.start()
  return sentinel
}
