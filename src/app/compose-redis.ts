/** Redis' adapters, as far as they do not belong to the gate itself: the connection, and what its servers are held to (E11). */

import { systemClock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import { openRedis, type Primary, type RedisConnection } from '../base/redis/connection.ts'
import { Link } from '../base/redis/link.ts'
import { type Address, parseRedisUrl } from '../base/redis/redis-url.ts'
import { openSentinels } from '../base/redis/sentinels.ts'
import {
  otherKind,
  problemsOf,
  type RedisFacts,
  readFacts,
  type Stated,
  tooFewReplicas,
} from '../gate/redis/durability.ts'
import { type Config, ConfigError } from './config.ts'

type RedisConfig = NonNullable<Config['redis']>

/** How long a start waits for a Redis that is away: then it goes on without, behind the ledger's door. */
const CONNECT_MS_MAX = 5_000
const LOOK_EVERY_MS = 50
const LOOK_AGAIN_MS = 500
const CALL_MS_MAX = 2_000

/**
 * Is every primary set as REDIS_DURABILITY says (E11)? One that is set otherwise throws: the start goes no further. One that is not there is
 * looked at when it is, because the ledger can sell without it; what is wrong then is told to `onWrong`, and the process ends. One that is
 * followed by too few replicas is named, and looked at again until they are there: nothing can be promised on it before, and after a
 * failover that is how the heir begins.
 *
 * Once all of them were as they must be, whoever comes later (after a failover, a restart, as a new node) is looked at too, before anything
 * can have been built there: it takes longer to rebuild an item. What is wrong with it does not end a process in mid-sale: that
 * server is not used until it is mended, and the ledger sells what it would have sold.
 */
export async function watchDurability(
  redis: RedisConfig,
  connection: RedisConnection,
  log: Log,
  signal: AbortSignal,
  onWrong: (error: unknown) => void,
  connectMsMax = CONNECT_MS_MAX,
): Promise<void> {
  const stated = statedBy(redis)
  /** What was looked at and found to be as it must be: the connection it was seen on. */
  const good = new Map<string, number>()
  /** What was said of the others. */
  const held = new Map<string, string>()

  await untilConnected(connection, connectMsMax)
  let whole = false
  try {
    const problems = await lookAtAll()
    if (problems.length > 0) throw new ConfigError(problems.join('; '))
    // What only waits for a replica is set as it must be: a server that is set wrong later ends no process.
    whole = connection.connected() && connection.primaries().every(one => isGood(one) || held.has(one.name))
    if (!connection.connected()) await sayWhyAway()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    await sayWhyAway()
    log.warn({ code: error.code, err: error }, 'Redis is not there yet; starting without it')
  }
  void goOnLooking()

  async function lookAtAll(): Promise<readonly string[]> {
    const problems: string[] = []
    const primaries = connection.primaries()
    for (const primary of primaries) {
      const { name, connection: seen } = primary
      const facts = await readFacts(primary)
      const found = problemsOf(facts, stated)
      if (found.length === 0) good.set(name, seen)
      const few = tooFewReplicas(facts, stated)
      if (found.some(problem => problem !== few)) problems.push(...named(primaries, primary, found))
      else if (few !== undefined) {
        log.warn({ redis: name, problems: few }, 'nothing is promised on this Redis until enough replicas follow it')
        held.set(name, few)
      }
    }
    // Nobody is known: the next call says what is wrong.
    if (primaries.length === 0) await connection.command(['PING'])
    return problems
  }

  /** A server that answers, but is not what the address says, is no server that is away. */
  async function sayWhyAway(): Promise<void> {
    const other = await wrongKind(redis, log)
    if (other !== undefined) throw new ConfigError(other)
  }

  async function goOnLooking(): Promise<void> {
    while (!signal.aborted) {
      await systemClock.sleep(LOOK_AGAIN_MS, signal)
      const primaries = connection.primaries()
      for (const primary of primaries) {
        try {
          await lookAgain(primary, primaries)
        } catch (error) {
          if (!(error instanceof Fault)) return onWrong(error)
        }
      }
      whole ||= connection.connected() && primaries.every(isGood)
      for (const name of good.keys()) if (!primaries.some(one => one.name === name)) good.delete(name)
    }
  }

  async function lookAgain(primary: Primary, primaries: readonly Primary[]): Promise<void> {
    const { name, connection: seen } = primary
    if (!primary.isUp() || isGood(primary)) return
    const facts = await readFacts(primary)
    if (isComingBack(facts)) return
    const problems = problemsOf(facts, stated)
    const told = named(primaries, primary, problems).join('; ')
    if (problems.length > 0 && !whole) throw new ConfigError(told)
    if (problems.length > 0) {
      if (held.get(name) !== told)
        log.error({ redis: name, problems: told }, 'this Redis is not used until it is mended')
      held.set(name, told)
      return primary.hold(told)
    }
    if (held.delete(name)) log.info({ redis: name }, 'this Redis is as it must be')
    primary.hold(undefined)
    good.set(name, seen)
  }

  function isGood({ name, connection: seen }: Primary): boolean {
    return good.get(name) === seen
  }

  /** Its replicas follow after it, or it is still one itself: nothing can be promised before, and nothing is set wrong. */
  function isComingBack(facts: RedisFacts): boolean {
    return facts.role === 'slave' || tooFewReplicas(facts, stated) !== undefined
  }
}

/** What the doctor asks of a Redis: what each primary says of itself, what is wrong with it, and what time it is there. */
export interface RedisExamination {
  /** Those that answer. */
  readonly primaries: readonly {
    readonly name: string
    readonly facts: RedisFacts
    readonly problems: readonly string[]
    /** Its clock, unix ms. */
    nowMs(): Promise<number>
  }[]
  /** Those that don't, while others do: of several, one may be dead. */
  readonly away: readonly { readonly name: string; readonly fault: Fault }[]
  /** Of all of them. */
  readonly problems: readonly string[]
  /** Of a cluster: what one of its nodes says of it. */
  readonly cluster: { readonly ok: boolean; readonly slotsCovered: number; readonly primaries: number } | undefined
  /** Of sentinels: could they fail over, in their own words? */
  readonly quorum: { readonly reached: boolean; readonly words: string } | undefined
}

export async function examineRedis<T>(
  redis: RedisConfig,
  log: Log,
  look: (examination: RedisExamination) => Promise<T>,
): Promise<T> {
  const stated = statedBy(redis)
  const connection = connectTo(redis, log)
  try {
    await untilConnected(connection, CONNECT_MS_MAX)
    if (!connection.connected()) {
      const other = await wrongKind(redis, log)
      if (other !== undefined) throw new Fault('redis_other_kind', other)
    }
    const known = connection.primaries()
    if (known.length === 0) await connection.command(['PING'])
    const primaries: RedisExamination['primaries'][number][] = []
    const away: RedisExamination['away'][number][] = []
    const problems: string[] = []
    for (const primary of known) {
      const examined = await examine(primary, stated).catch(faultOf)
      if (examined instanceof Fault) away.push({ name: primary.name, fault: examined })
      else primaries.push(examined)
      const found = examined instanceof Fault ? [examined.message] : examined.problems
      problems.push(...named(known, primary, found))
    }
    if (primaries.length === 0 && away[0] !== undefined) throw away[0].fault
    const cluster = stated.kind === 'cluster' ? await readCluster(connection) : undefined
    const quorum = stated.kind === 'sentinel' ? await readQuorum(redis, log) : undefined
    return await look({ primaries, away, problems, cluster, quorum })
  } finally {
    await connection.close()
  }
}

async function examine(primary: Primary, stated: Stated): Promise<RedisExamination['primaries'][number]> {
  const facts = await readFacts(primary)
  const nowMs = async () => {
    const [seconds, micros] = (await primary.command(['TIME'])) as readonly [string, string]
    return Number(seconds) * 1_000 + Number(micros) / 1_000
  }
  return { name: primary.name, facts, problems: problemsOf(facts, stated), nowMs }
}

function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error
  throw error
}

export function connectTo({ url, durability, replicas }: RedisConfig, log: Log): RedisConnection {
  return openRedis({ url, clock: systemClock, log, durability, replicas })
}

function statedBy({ url, durability, replicas, unverified }: RedisConfig): Stated {
  return { kind: parseRedisUrl(url).kind, durability, replicas, unverified }
}

/** Of several, each line says which one. */
function named(all: readonly Primary[], { name }: Primary, problems: readonly string[]): readonly string[] {
  return all.length === 1 ? problems : problems.map(problem => `${name}: ${problem}`)
}

/** Or until it has taken too long: then the next call says what is wrong. */
async function untilConnected(connection: RedisConnection, limitMs: number): Promise<void> {
  const lateMs = systemClock.elapsed() + limitMs
  while (!connection.connected() && systemClock.elapsed() < lateMs) await systemClock.sleep(LOOK_EVERY_MS)
}

/** What to write instead, if the first server that answers is of another kind than the address says. */
async function wrongKind({ url }: RedisConfig, log: Log): Promise<string | undefined> {
  const place = parseRedisUrl(url)
  if (place.kind === 'single') return undefined
  for (const address of place.kind === 'sentinel' ? place.sentinels : place.seeds) {
    const mode = await modeOf(address, log)
    if (mode !== undefined) return otherKind(place.kind, mode)
  }
  return undefined
}

async function modeOf(address: Address, log: Log): Promise<string | undefined> {
  const quiet = { ...log, warn() {}, info() {} }
  const link = new Link({
    address: () => address,
    clock: systemClock,
    log: quiet,
    timeoutMs: CALL_MS_MAX,
    name: 'kind',
  })
  try {
    const lateMs = systemClock.elapsed() + CALL_MS_MAX
    while (!link.isUp() && systemClock.elapsed() < lateMs) await systemClock.sleep(LOOK_EVERY_MS)
    const [info] = await link.send('INFO', [['INFO', 'server']])
    return /redis_mode:(\w+)/.exec(String(info))?.[1]
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  } finally {
    await link.close()
  }
}

async function readCluster(connection: RedisConnection): Promise<RedisExamination['cluster']> {
  const info = String(await connection.command(['CLUSTER', 'INFO']))
  const of = (field: string) => new RegExp(`^${field}:(\\w+)`, 'm').exec(info)?.[1] ?? ''
  return {
    ok: of('cluster_state') === 'ok',
    slotsCovered: Number(of('cluster_slots_ok')),
    primaries: Number(of('cluster_size')),
  }
}

async function readQuorum({ url }: RedisConfig, log: Log): Promise<RedisExamination['quorum']> {
  const place = parseRedisUrl(url)
  if (place.kind !== 'sentinel') return undefined
  const sentinels = openSentinels(place, { clock: systemClock, log, timeoutMs: CALL_MS_MAX })
  try {
    const lateMs = systemClock.elapsed() + CALL_MS_MAX
    for (;;) {
      const quorum = await sentinels.quorum()
      if (quorum !== undefined || systemClock.elapsed() > lateMs) return quorum
      await systemClock.sleep(LOOK_EVERY_MS)
    }
  } finally {
    await sentinels.close()
  }
}
