/**
 * One run of the PostgreSQL server, from spawn to exit. In a process group of its own, so that a Ctrl-C in the terminal reaches Stampede alone
 * and PostgreSQL lives until the last answer is given. It logs to a file and not to a pipe, which would break when Stampede dies first.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Client, DatabaseError } from 'pg'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Account } from './account.ts'
import type { Programs } from './binaries.ts'
import { DATABASE_USER, PROGRAM_ENV } from './data-folder.ts'
import { ifExists, messageOf } from './errno.ts'
import { clusterNameOf } from './leftover.ts'
import { SOCKET_PORT } from './socket-folder.ts'

export type Postmaster = ReturnType<typeof spawnPostmaster>

export interface PostmasterOptions {
  readonly dataDir: string
  readonly dataFolder: string
  readonly socketFolder: string
  readonly programs: Programs
  readonly account: Account | undefined
  readonly maxConnections: number
}

const DATABASE = 'stampede'

const LOG_BYTES_MAX = 10 << 20
const RETRY_EVERY_MS = 10
const CONNECT_MS_MAX = 2_000
/** Recovery after a crash replays at most `max_wal_size`, which a slow disk does in minutes. */
const READY_MS_MAX = 300_000

/** Starting, recovering, shutting down. */
const NOT_NOW_CLASS = '57'
const TOO_MANY_CONNECTIONS = '53300'
const NO_SUCH_DATABASE = '3D000'

export function spawnPostmaster(options: PostmasterOptions) {
  const logPath = join(options.dataDir, 'postgres.log')
  rotate(logPath)
  const logFile = openSync(logPath, 'a', 0o600)
  const logStart = fstatSync(logFile).size
  let child: ChildProcess
  try {
    child = spawn(options.programs.postgres, ['-D', options.dataFolder, ...settings(options)], {
      cwd: '/',
      env: PROGRAM_ENV,
      detached: true,
      stdio: ['ignore', logFile, logFile],
      ...(options.account && { uid: options.account.uid, gid: options.account.gid }),
    })
  } finally {
    closeSync(logFile)
  }
  let how: string | undefined
  const ended = new Promise<string>(resolve => {
    const end = (ended: string) => {
      how ??= ended
      resolve(how)
    }
    child.on('error', error => end(messageOf(error)))
    child.on('exit', (code, signal) => end(signal ?? `code ${code}`))
  })
  // A forgotten stop must not keep Stampede's process from ending.
  child.unref()
  if (child.pid === undefined)
    throw new Fault('embedded_start', `${options.programs.postgres} can't be run on this system`)
  return {
    pid: child.pid,
    /** Resolves with how it ended, e.g. `SIGKILL` or `code 1`. Never rejects. */
    ended,
    hasEnded: () => how !== undefined,
    /** The last error it logged in this run, one line. */
    lastError: () => lastError(logPath, logStart),
  }
}

function settings({ socketFolder, dataFolder, maxConnections }: PostmasterOptions): string[] {
  const values = {
    listen_addresses: '',
    port: SOCKET_PORT,
    // A list: quoted, so that a comma in the path does not end it.
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: maxConnections,
    cluster_name: clusterNameOf(dataFolder),
    timezone: 'UTC',

    // An answered order is on disk: these three override postgresql.conf.
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',

    // Many small commits: keep checkpoints rare and write-ahead log files in place for reuse.
    shared_buffers: '128MB',
    wal_buffers: '16MB',
    min_wal_size: '256MB',
    max_wal_size: '1GB',
    checkpoint_timeout: '15min',
    // Statements are short and cached: compiling them, or running a report on the cores the sale needs, only costs.
    jit: 'off',
    max_parallel_workers_per_gather: 0,
    io_method: 'sync',

    log_destination: 'stderr',
    logging_collector: 'off',
    log_min_messages: 'warning',
    log_checkpoints: 'off',
    log_line_prefix: '%m [%p] ',
    log_timezone: 'UTC',
  }
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** For `pg`: a unix-socket directory as host. */
export function connectionTo(socketFolder: string, database = DATABASE) {
  return { host: socketFolder, port: SOCKET_PORT, user: DATABASE_USER, database }
}

export type Connection = Readonly<ReturnType<typeof connectionTo>>

/** Returns when the database answers; creates it if it does not exist. Throws when the server ends, or `signal` aborts. */
export async function waitUntilReady(postmaster: Postmaster, socketFolder: string, signal: AbortSignal): Promise<void> {
  const until = systemClock.elapsed() + READY_MS_MAX
  let refused: unknown
  while (systemClock.elapsed() < until && !signal.aborted) {
    if (postmaster.hasEnded()) throw endedEarly(await postmaster.ended, postmaster.lastError())
    try {
      await query(connectionTo(socketFolder), 'SELECT 1')
      return
    } catch (error) {
      refused = error
      const code = error instanceof DatabaseError ? error.code : undefined
      if (code === TOO_MANY_CONNECTIONS) return
      if (code === NO_SUCH_DATABASE) {
        await query(connectionTo(socketFolder, 'postgres'), `CREATE DATABASE ${DATABASE}`)
        continue
      }
      // Waiting helps while there is no socket yet, while it recovers, or when it has just died; not with any other error.
      if (code !== undefined && !code.startsWith(NOT_NOW_CLASS)) throw error
      await Promise.race([postmaster.ended, systemClock.sleep(RETRY_EVERY_MS, signal)])
    }
  }
  const why = signal.aborted ? 'Stampede was stopped' : `after ${READY_MS_MAX / 1000} s: ${messageOf(refused)}`
  throw new Fault('embedded_start', `PostgreSQL did not get ready, ${why}`, { cause: refused })
}

function endedEarly(how: string, error: string): Fault {
  // Another process still holds the shared memory or the folder; that passes.
  const retryable = /still in use|already exists|another postmaster/i.test(error)
  return new Fault(
    'embedded_start',
    `PostgreSQL ended while starting (${how}): ${error || 'postgres.log has no error'}`,
    { retryable },
  )
}

async function query(connection: Connection, statement: string): Promise<void> {
  const client = new Client({ ...connection, ssl: false, connectionTimeoutMillis: CONNECT_MS_MAX })
  // A server that dies under an idle client emits an error event; only the statement's own failure matters here.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(statement)
  } finally {
    await client.end().catch(() => {})
  }
}

function rotate(logPath: string): void {
  const bytes = ifExists(() => statSync(logPath))?.size ?? 0
  if (bytes > LOG_BYTES_MAX) renameSync(logPath, `${logPath}.1`)
}

function lastError(logPath: string, logStart: number): string {
  try {
    const lines = readFileSync(logPath).subarray(logStart).toString('utf8').trim().split('\n')
    const line = lines.findLast(one => /\b(FATAL|PANIC|ERROR):/.test(one)) ?? lines.at(-1) ?? ''
    return line.replace(/^.*?\b(FATAL|PANIC|ERROR):\s*/, '').trim()
  } catch {
    return ''
  }
}
