/** Redis' adapters, as far as they do not belong to the gate itself: the connection, and what it is held to (E11). */

import { systemClock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import { openRedis, type RedisConnection } from '../base/redis/connection.ts'
import { checkDurability, problemsOf, type RedisFacts, readFacts } from '../gate/redis/durability.ts'
import { type Config, ConfigError } from './config.ts'

type RedisConfig = NonNullable<Config['redis']>

/** How long a start waits for a Redis that is away: then it goes on without, behind the ledger's door. */
const CONNECT_MS_MAX = 5_000
const LOOK_EVERY_MS = 50
const LOOK_AGAIN_MS = 500

/**
 * Is it set as REDIS_DURABILITY says (E11)? One that is set otherwise throws: the start goes no further. One that is not there is looked at
 * when it is, because the ledger can sell without it; what is wrong then is told to `onWrong`, and the process ends.
 */
export async function watchDurability(
  redis: RedisConfig,
  connection: RedisConnection,
  log: Log,
  signal: AbortSignal,
  onWrong: (error: unknown) => void,
  connectMsMax = CONNECT_MS_MAX,
): Promise<void> {
  const check = async () => {
    const problems = await checkDurability(connection, redis.durability, redis.replicas, redis.unverified)
    if (problems.length > 0) throw new ConfigError(problems.join('; '))
  }
  try {
    await untilConnected(connection, connectMsMax)
    await check()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    log.warn({ code: error.code, err: error }, 'Redis is not there yet; starting without it')
    void later()
  }

  /** Its replicas follow after it, or it is still one itself: nothing can be promised before, and nothing is set wrong. */
  async function isComingBack(): Promise<boolean> {
    const { role, replicasOnline } = await readFacts(connection)
    return role !== 'master' || (redis.durability === 'replica' && replicasOnline < redis.replicas)
  }

  async function later(): Promise<void> {
    while (!signal.aborted) {
      await systemClock.sleep(LOOK_AGAIN_MS, signal)
      if (!connection.connected()) continue
      try {
        if (await isComingBack()) continue
        return await check()
      } catch (error) {
        if (!(error instanceof Fault)) return onWrong(error)
      }
    }
  }
}

/** What the doctor asks a Redis: what it says of itself, what is wrong with it, and what time it is there. */
export interface RedisExamination {
  readonly facts: RedisFacts
  readonly problems: readonly string[]
  /** Its clock, unix ms. */
  nowMs(): Promise<number>
}

export async function examineRedis<T>(
  redis: RedisConfig,
  log: Log,
  look: (examination: RedisExamination) => Promise<T>,
): Promise<T> {
  const connection = connectTo(redis, log)
  try {
    await untilConnected(connection, CONNECT_MS_MAX)
    const facts = await readFacts(connection)
    const problems = problemsOf(facts, redis.durability, redis.replicas, redis.unverified)
    const nowMs = async () => {
      const [seconds, micros] = (await connection.command(['TIME'])) as readonly [string, string]
      return Number(seconds) * 1_000 + Number(micros) / 1_000
    }
    return await look({ facts, problems, nowMs })
  } finally {
    await connection.close()
  }
}

export function connectTo({ url, durability, replicas }: RedisConfig, log: Log): RedisConnection {
  return openRedis({ url, clock: systemClock, log, durability, replicas })
}

/** Or until it has taken too long: then the next call says what is wrong. */
async function untilConnected(connection: RedisConnection, limitMs: number): Promise<void> {
  const lateMs = systemClock.elapsed() + limitMs
  while (!connection.connected() && systemClock.elapsed() < lateMs) await systemClock.sleep(LOOK_EVERY_MS)
}
