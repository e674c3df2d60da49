/** What the doctor learns from Redis: each primary's state, problems and clock, and whether a Cluster or its Sentinels are whole. */

import { systemClock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import type { Primary, RedisConnection } from '../base/redis/connection.ts'
import { parseRedisUrl } from '../base/redis/redis-url.ts'
import { openSentinels } from '../base/redis/sentinels.ts'
import { problemsOf, readFacts, type Stated } from '../gate/redis/durability.ts'
import {
  CALL_MS_MAX,
  CONNECT_MS_MAX,
  connectTo,
  findOtherKind,
  type RedisConfig,
  statedBy,
  waitUntil,
} from './compose-redis.ts'

export type RedisExamination = Awaited<ReturnType<typeof examine>>

/** The connection is open while `use` runs. Throws a Fault if no primary answers. */
export async function examineRedis<T>(
  redis: RedisConfig,
  log: Log,
  use: (examination: RedisExamination) => Promise<T>,
): Promise<T> {
  const connection = connectTo(redis, log)
  try {
    await waitUntil(() => connection.connected(), CONNECT_MS_MAX)
    if (!connection.connected()) {
      const other = await findOtherKind(redis, log)
      if (other !== undefined) throw new Fault('redis_other_kind', other)
    }
    return await use(await examine(redis, connection, log))
  } finally {
    await connection.close()
  }
}

async function examine(redis: RedisConfig, connection: RedisConnection, log: Log) {
  const known = connection.primaries()
  // No primary is known: this call throws the reason.
  if (known.length === 0) await connection.command(['PING'])
  const examined = await Promise.all(known.map(primary => examinePrimary(primary, statedBy(redis))))
  /** Those that do not answer, while others do. */
  const away = examined.filter(one => one.kind === 'away')
  const primaries = examined.filter(one => one.kind === 'primary')
  if (primaries.length === 0 && away[0] !== undefined) throw away[0].fault
  return {
    primaries,
    away,
    cluster: await readCluster(redis, connection),
    quorum: await readQuorum(redis, log),
  }
}

async function examinePrimary(primary: Primary, stated: Stated) {
  const { name } = primary
  try {
    const facts = await readFacts(primary)
    return {
      kind: 'primary',
      name,
      facts,
      problems: problemsOf(facts, stated),
      nowMs: () => readClock(primary),
    } as const
  } catch (error) {
    if (error instanceof Fault) return { kind: 'away', name, fault: error } as const
    throw error
  }
}

/** Unix ms. */
async function readClock(primary: Primary): Promise<number> {
  const [seconds, micros] = (await primary.command(['TIME'])) as readonly [string, string]
  return Number(seconds) * 1_000 + Number(micros) / 1_000
}

/** What one node says about its Redis Cluster. */
async function readCluster({ url }: RedisConfig, connection: RedisConnection) {
  if (parseRedisUrl(url).kind !== 'cluster') return undefined
  const info = String(await connection.command(['CLUSTER', 'INFO']))
  const field = (name: string) => new RegExp(`^${name}:(\\w+)`, 'm').exec(info)?.[1] ?? ''
  return {
    ok: field('cluster_state') === 'ok',
    slotsCovered: Number(field('cluster_slots_ok')),
    primaries: Number(field('cluster_size')),
  }
}

/** Could the Sentinels fail over, in their own words? */
async function readQuorum({ url }: RedisConfig, log: Log) {
  const target = parseRedisUrl(url)
  if (target.kind !== 'sentinel') return undefined
  const sentinels = openSentinels(target, { clock: systemClock, log, timeoutMs: CALL_MS_MAX })
  let quorum: Awaited<ReturnType<typeof sentinels.quorum>>
  try {
    await waitUntil(async () => {
      quorum = await sentinels.quorum()
      return quorum !== undefined
    }, CALL_MS_MAX)
    return quorum
  } finally {
    await sentinels.close()
  }
}
