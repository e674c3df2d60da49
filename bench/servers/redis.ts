/**
 * A Redis on the server's core, with its files on a disk: in a memory file system `appendfsync always` would cost nothing.
 * Where the temporary folder is in memory, another one is used; if there is none, the report says so.
 */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { type Durability, openRedis, type RedisConnection } from '../../src/base/redis/connection.ts'
import { Playground } from '../../test/harness/playground.ts'
import { startRedis } from '../../test/harness/redis.ts'
import { until } from '../../test/harness/until.ts'
import { placeServer } from '../cores.ts'
import { endable } from '../endable.ts'

export type Fsync = 'always' | 'no'

export interface Redis {
  readonly pid: number
  readonly port: number
  readonly url: string
  /** The folder of its files, and its file system. */
  readonly folder: string
  readonly connection: RedisConnection
  stop(): Promise<void>
}

/** Linux's names of file systems in memory. */
const TMPFS = 0x01021994
/** A disk that is busy with others' work makes a case slow, and does not end it. */
const CALL_MS_MAX = 30_000
const FOLDERS = [tmpdir(), '/var/tmp', process.cwd()]

export async function startBenchRedis(fsync: Fsync): Promise<Redis> {
  const playground = new Playground()
  const stop = endable(() => playground.undo())
  try {
    const base = FOLDERS.find(folder => !isMemory(folder)) ?? tmpdir()
    const dir = mkdtempSync(join(base, 'stampede-bench-redis-'))
    playground.onUndo(() => rmSync(dir, { recursive: true, force: true }))
    const server = await startRedis(playground, { dir, config: [`appendfsync ${fsync}`] })
    placeServer(server.pid)
    const { port, url, pid } = server
    const durability: Durability = fsync === 'always' ? 'disk' : 'memory'
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const connection = openRedis({ url, clock: systemClock, log, durability, replicas: 0, timeoutMs: CALL_MS_MAX })
    playground.onUndo(() => connection.close())
    await until('a connection to Redis', () => connection.connected())
    const folder = `${base} (${isMemory(base) ? 'memory: its disk was not measured' : fileSystemOf(base)})`
    return { pid, port, url, folder, connection, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function isMemory(folder: string): boolean {
  try {
    return statfsSync(folder).type === TMPFS
  } catch {
    return true
  }
}

function fileSystemOf(folder: string): string {
  const { stdout } = spawnSync('df', ['--output=fstype', folder], { encoding: 'utf8' })
  return stdout?.trim().split('\n').at(-1) ?? 'unknown'
}
