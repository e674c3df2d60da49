/** What tests share that talk to Redis: a connection that is undone with the test, and a log that keeps what it hears. */

import { assert } from '../assert.ts'
import { systemClock } from '../clock.ts'
import { type Durability, openRedis, type RedisConnection } from './connection.ts'

export interface Undo {
  onUndo(step: () => unknown): void
}

export const PATIENT_MS = 20_000

/** Everything that was said, as one text. */
export function hearingLog() {
  const heard: string[] = []
  const hear = (fields: Readonly<Record<string, unknown>>, message: string) => {
    heard.push(
      `${JSON.stringify(fields, (_, value: unknown) => (value instanceof Error ? String(value) : value))} ${message}`,
    )
  }
  return { debug: hear, info: hear, warn: hear, error: hear, text: () => heard.join('\n') }
}

export interface ConnectOptions {
  /** Patient unless a test says so: a machine that stands still for a moment is not a server that is away. */
  readonly timeoutMs?: number
  readonly durability?: Durability
  readonly replicas?: number
}

export async function connect(undo: Undo, url: string, options: ConnectOptions = {}): Promise<RedisConnection> {
  const { timeoutMs = PATIENT_MS, durability = 'disk', replicas = 0 } = options
  const log = hearingLog()
  const connection = openRedis({ url, clock: systemClock, log, timeoutMs, durability, replicas })
  undo.onUndo(() => connection.close())
  const lateMs = systemClock.elapsed() + 30_000
  while (!connection.connected()) {
    assert(systemClock.elapsed() < lateMs, `no connection: ${log.text()}`)
    await systemClock.sleep(2)
  }
  return connection
}
