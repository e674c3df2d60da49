/**
 * The connection to Redis, the check that its servers keep what REDIS_DURABILITY says (E11), and what the doctor learns from them: each
 * primary's state, problems and clock, and whether a Cluster or its Sentinels are whole.
 */

import { systemClock } from '../base/clock.ts'
import { Fault, onFault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import { openRedis, type Primary, type RedisConnection } from '../base/redis/connection.ts'
import { Link } from '../base/redis/link.ts'
import { type Address, parseRedisUrl } from '../base/redis/redis-url.ts'
import { openSentinels } from '../base/redis/sentinels.ts'
import { otherKind, problemsOf, readFacts, type Stated, tooFewReplicas } from '../gate/redis/durability.ts'
import { type Config, ConfigError } from './config/config.ts'

type RedisConfig = NonNullable<Config['redis']>

/** How long a start waits for a Redis that is away. Then it goes on without: the ledger can sell. */
const CONNECT_MS_MAX = 5_000
/** Longer than a connection usually takes. After it the server is asked for its kind: to one of another kind there is never a connection. */
const ASK_KIND_AFTER_MS = 500
const CALL_MS_MAX = 2_000
const POLL_MS = 50
const CHECK_EVERY_MS = 500

export function connectTo({ url, durability, replicas }: RedisConfig, log: Log): RedisConnection {
  return openRedis({ url, clock: systemClock, log, durability, replicas })
}

/**
 * Checks every primary against REDIS_DURABILITY, at the start and for as long as the process runs.
 * - Wrong settings throw: the process does not start.
 * - A Redis that is away is checked when it is back. Wrong settings then end the process, through `onWrong`.
 * - Too few replicas are logged and awaited: such a primary acknowledges nothing yet, and after a failover every new primary begins so.
 * - Once every primary was right, a new one (failover, restart, new node) is checked before an item can have been rebuilt on it. Wrong
 *   settings then do not end a process in the middle of a sale: that server is not used until they are corrected, and the ledger sells.
 */
export async function watchDurability(
  redis: RedisConfig,
  connection: RedisConnection,
  log: Log,
  signal: AbortSignal,
  onWrong: (error: unknown) => void,
  connectMsMax = CONNECT_MS_MAX,
): Promise<void> {
  const watch = new DurabilityWatch(redis, connection, log)
  await watch.start(connectMsMax)
  void watch.run(signal).catch(onWrong)
}

class DurabilityWatch {
  readonly #redis: RedisConfig
  readonly #connection: RedisConnection
  readonly #log: Log
  /** The connection on which each primary was last found right. */
  readonly #right = new Map<string, number>()
  /** What was last logged about a primary that is not. */
  readonly #logged = new Map<string, string>()
  /** Every primary has been right once: from now on nothing ends the process. */
  #complete = false

  constructor(redis: RedisConfig, connection: RedisConnection, log: Log) {
    this.#redis = redis
    this.#connection = connection
    this.#log = log
  }

  async start(connectMsMax: number): Promise<void> {
    const connection = this.#connection
    const other = await awaitConnection(this.#redis, connection, this.#log, connectMsMax)
    if (other !== undefined) throw new ConfigError(other)
    try {
      await this.#checkFirst()
      // A primary that only lacks a replica has the right settings.
      this.#complete =
        connection.connected() && connection.primaries().every(one => this.#isRight(one) || this.#logged.has(one.name))
      if (!connection.connected()) await this.#refuseOtherKind()
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      await this.#refuseOtherKind()
      this.#log.warn(
        { event: 'start_without_redis', code: error.code, err: error },
        'Redis is away; starting without it',
      )
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await systemClock.sleep(CHECK_EVERY_MS, signal)
      const primaries = this.#connection.primaries()
      for (const primary of primaries) await onFault(() => this.#checkAgain(primary, primaries))
      this.#complete ||= this.#connection.connected() && primaries.every(one => this.#isRight(one))
      for (const name of this.#right.keys()) if (!primaries.some(one => one.name === name)) this.#right.delete(name)
    }
  }

  async #checkFirst(): Promise<void> {
    const stated = statedBy(this.#redis)
    const problems: string[] = []
    const primaries = this.#connection.primaries()
    for (const primary of primaries) {
      const { name, connection } = primary
      const facts = await readFacts(primary)
      const found = problemsOf(facts, stated)
      const tooFew = tooFewReplicas(facts, stated)
      if (found.length === 0) this.#right.set(name, connection)
      else if (found.some(problem => problem !== tooFew)) problems.push(...named(primaries, name, found))
      else if (tooFew !== undefined) {
        this.#log.warn(
          { event: 'redis_too_few_replicas', redis: name, problems: tooFew },
          'Redis server acknowledges nothing: it has too few replicas',
        )
        this.#logged.set(name, tooFew)
      }
    }
    // No primary is known: this call throws the reason.
    if (primaries.length === 0) await this.#connection.command(['PING'])
    if (problems.length > 0) throw new ConfigError(problems.join('; '))
  }

  async #checkAgain(primary: Primary, primaries: readonly Primary[]): Promise<void> {
    const stated = statedBy(this.#redis)
    const { name, connection } = primary
    if (!primary.isUp() || this.#isRight(primary)) return
    const facts = await readFacts(primary)
    // Still a replica itself, or its replicas follow later: it acknowledges nothing before, and nothing is wrong.
    if (facts.role === 'slave' || tooFewReplicas(facts, stated) !== undefined) return
    const problems = named(primaries, name, problemsOf(facts, stated)).join('; ')
    if (problems === '') {
      if (this.#logged.delete(name))
        this.#log.info({ event: 'redis_in_use', redis: name }, 'Redis server keeps REDIS_DURABILITY now; in use')
      primary.hold(undefined)
      this.#right.set(name, connection)
      return
    }
    if (!this.#complete) throw new ConfigError(problems)
    if (this.#logged.get(name) !== problems)
      this.#log.error(
        { event: 'redis_refused', redis: name, problems },
        'Redis server not used until its settings are corrected',
      )
    this.#logged.set(name, problems)
    primary.hold(problems)
  }

  #isRight({ name, connection }: Primary): boolean {
    return this.#right.get(name) === connection
  }

  async #refuseOtherKind(): Promise<void> {
    const line = await findOtherKind(this.#redis, this.#log)
    if (line !== undefined) throw new ConfigError(line)
  }
}

function statedBy({ url, durability, replicas, unverified }: RedisConfig): Stated {
  return { kind: parseRedisUrl(url).kind, durability, replicas, unverified }
}

/** With several primaries, each line begins with the one it is about. */
function named(all: readonly Primary[], name: string, problems: readonly string[]): readonly string[] {
  return all.length === 1 ? problems : problems.map(problem => `${name}: ${problem}`)
}

/** Or until the time is up. */
async function waitUntil(isMet: () => boolean | Promise<boolean>, msMax: number): Promise<void> {
  const deadlineMs = systemClock.elapsed() + msMax
  while (!(await isMet()) && systemClock.elapsed() < deadlineMs) await systemClock.sleep(POLL_MS)
}

/** Or until the time is up. Where the address leads to a server of another kind, at once the line that says what to write instead. */
async function awaitConnection(redis: RedisConfig, connection: RedisConnection, log: Log, msMax: number) {
  const deadlineMs = systemClock.elapsed() + msMax
  const isUp = () => connection.connected()
  await waitUntil(isUp, Math.min(ASK_KIND_AFTER_MS, msMax))
  const other = isUp() ? undefined : await findOtherKind(redis, log)
  if (other === undefined) await waitUntil(isUp, deadlineMs - systemClock.elapsed())
  return other
}

/** Does the address lead to a server of another kind than it says? Then the line that says what to write instead. */
async function findOtherKind({ url }: RedisConfig, log: Log): Promise<string | undefined> {
  const target = parseRedisUrl(url)
  if (target.kind === 'single') return undefined
  const { kind } = target
  const addresses = kind === 'sentinel' ? target.sentinels : target.seeds
  const modes = await Promise.all(addresses.map(address => modeOf(address, log)))
  const mode = modes.find(one => one !== undefined)
  return mode === undefined ? undefined : otherKind(kind, mode)
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
    await waitUntil(() => link.isUp(), CALL_MS_MAX)
    const replies = await onFault(() => link.send('INFO', [['INFO', 'server']]))
    return /redis_mode:(\w+)/.exec(String(replies?.[0]))?.[1]
  } finally {
    await link.close()
  }
}

export type RedisExamination = Awaited<ReturnType<typeof examine>>

/** The connection is open while `use` runs. Throws a Fault if no primary answers. */
export async function examineRedis<T>(
  redis: RedisConfig,
  log: Log,
  use: (examination: RedisExamination) => Promise<T>,
): Promise<T> {
  const connection = connectTo(redis, log)
  try {
    const other = await awaitConnection(redis, connection, log, CONNECT_MS_MAX)
    if (other !== undefined) throw new Fault('redis_other_kind', other)
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
  const nowMs = () => readClock(primary)
  return onFault(
    async () => {
      const facts = await readFacts(primary)
      return { kind: 'primary', name, facts, problems: problemsOf(facts, stated), nowMs } as const
    },
    fault => ({ kind: 'away', name, fault }) as const,
  )
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
