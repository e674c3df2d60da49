/**
 * The embedded PostgreSQL: started with Stampede, supervised while it runs, stopped with it. One per data folder, reached through a
 * socket in a private folder; no TCP port is opened and nothing needs to be installed.
 *
 * States: starting → running ⇄ restarting (PostgreSQL died while Stampede lives) → stopped.
 * While restarting, the socket is the same and connections fail: the callers' pools keep trying. Nothing committed is lost.
 * After `stop` nothing is started. Does not know tables, pools or what the database is used for.
 */

import { rmdir } from 'node:fs/promises'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { accountFor } from './account.ts'
import { findBinaries, usableBinaries } from './binaries.ts'
import { adoptData, findData, type Log, makeData, makeDataDir } from './data-folder.ts'
import { messageOf, orFault } from './errno.ts'
import { lockFolder } from './folder-lock.ts'
import { clearLeftover, endOrphans, endPostmaster } from './leftover.ts'
import {
  type Connection,
  connectionTo,
  type Postmaster,
  type PostmasterOptions,
  spawnPostmaster,
  waitUntilReady,
} from './postmaster.ts'
import { makeSocketFolder } from './socket-folder.ts'

interface EmbeddedServerOptions {
  readonly dataDir: string
  readonly log: Log
  readonly maxConnections?: number
}

const CONNECTIONS_MAX = 60
const START_MS_MAX = 30_000
const PAUSE_MS_MIN = 100
const PAUSE_MS_MAX = 5_000
/** A server that ran this long was healthy: the next death resets the back-off. */
const HEALTHY_MS = 10_000

/** Starts PostgreSQL on the folder's data, making it on first start. Throws a Fault with one line for the operator. */
export function startEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  return orFault('embedded_start', `the embedded PostgreSQL can't use ${options.dataDir}`, () => start(options))
}

async function start(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const begun = systemClock.elapsed()
  const dataDir = makeDataDir(options.dataDir)
  const { release } = lockFolder(dataDir)
  try {
    const parts = await prepare(dataDir, options)
    const server = new EmbeddedServer(parts, options, release)
    await server.start(systemClock.elapsed() + START_MS_MAX)
    const tookMs = Math.round(systemClock.elapsed() - begun)
    options.log('info', `PostgreSQL runs in ${parts.dataFolder} (pid ${server.pid()}), ready after ${tookMs} ms`)
    return server
  } catch (error) {
    release()
    throw error
  }
}

async function prepare(dataDir: string, options: EmbeddedServerOptions): Promise<PostmasterOptions> {
  const { log, maxConnections = CONNECTIONS_MAX } = options
  const data = findData(dataDir)
  const account = accountFor(data?.ownerUid)
  const programs = usableBinaries(findBinaries(), account)
  if (data) adoptData(data, programs, account, log)
  const dataFolder = data?.path ?? (await makeData(dataDir, programs, account, log))
  const socketFolder = makeSocketFolder(dataDir, account)
  return { dataDir, dataFolder, socketFolder, programs, account, maxConnections }
}

class EmbeddedServer {
  readonly connection: Connection
  readonly #parts: PostmasterOptions
  readonly #log: Log
  readonly #release: () => void
  readonly #stopping = new AbortController()
  #current: Postmaster | undefined
  #supervising: Promise<void> = Promise.resolve()
  #stopped: Promise<void> | undefined

  constructor(parts: PostmasterOptions, { log }: EmbeddedServerOptions, release: () => void) {
    this.connection = connectionTo(parts.socketFolder)
    this.#parts = parts
    this.#log = log
    this.#release = release
  }

  /** PostgreSQL's main process; undefined while it is being restarted. */
  pid(): number | undefined {
    return this.#current?.hasEnded() === false ? this.#current.pid : undefined
  }

  /** Stops PostgreSQL, orderly if that succeeds in time, and releases the folder. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  /** The first start: only retryable faults are tried again, and not for long. */
  async start(until: number): Promise<void> {
    for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = longer(pauseMs)) {
      try {
        const first = await this.#launch()
        this.#supervising = this.#supervise(first)
        return
      } catch (error) {
        if (!(error instanceof Fault && error.retryable) || systemClock.elapsed() + pauseMs > until) throw error
        await systemClock.sleep(pauseMs)
      }
    }
  }

  async #launch(): Promise<Postmaster> {
    const { dataFolder, socketFolder } = this.#parts
    await clearLeftover(dataFolder, socketFolder, this.#log)
    const postmaster = spawnPostmaster(this.#parts)
    this.#current = postmaster
    try {
      await waitUntilReady(postmaster, socketFolder, this.#stopping.signal)
    } catch (error) {
      await endPostmaster(postmaster.pid, postmaster.hasEnded)
      throw error
    }
    return postmaster
  }

  /** Never rejects: a failed restart is logged and tried again until `stop`. */
  async #supervise(first: Postmaster): Promise<void> {
    const stopping = this.#stopping.signal
    let running = first
    let pauseMs = 0
    while (!stopping.aborted) {
      const since = systemClock.elapsed()
      const how = await running.ended
      if (stopping.aborted) return
      this.#log('error', `PostgreSQL (pid ${running.pid}) ended unexpectedly (${how}); starting it again`)
      if (systemClock.elapsed() - since > HEALTHY_MS) pauseMs = 0

      for (;;) {
        await systemClock.sleep(pauseMs, stopping)
        if (stopping.aborted) return
        pauseMs = longer(pauseMs)
        try {
          running = await this.#launch()
          this.#log('info', `PostgreSQL runs again (pid ${running.pid})`)
          break
        } catch (error) {
          if (stopping.aborted) return
          this.#log('error', `PostgreSQL could not be started again, next try in ${pauseMs} ms: ${messageOf(error)}`)
        }
      }
    }
  }

  async #stop(): Promise<void> {
    this.#stopping.abort()
    try {
      await this.#endCurrent()
      // A restart under way gives up; one that succeeded meanwhile is ended here.
      await this.#supervising
      await this.#endCurrent()
      await endOrphans(this.#parts.dataFolder, this.#log)
    } finally {
      await rmdir(this.#parts.socketFolder).catch(() => {
        // Not empty: the next start uses it again.
      })
      this.#release()
    }
  }

  async #endCurrent(): Promise<void> {
    const current = this.#current
    if (current && !current.hasEnded()) await endPostmaster(current.pid, current.hasEnded)
  }
}

function longer(pauseMs: number): number {
  return Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, pauseMs * 2))
}
