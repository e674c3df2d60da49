/**
 * What the doctor asks the Redis of a cluster: can it be reached, does every primary keep what REDIS_DURABILITY says, may it throw anything
 * away, who follows it, and does its clock agree with the ledger's, since the window is judged by its own. Of a Redis Cluster also whether
 * every slot is somebody's, of sentinels whether they could agree on a failover.
 */

import { examineRedis, type RedisExamination } from '../app/compose-doctor.ts'
import { openLedger } from '../app/compose-ledger.ts'
import type { Config } from '../app/config.ts'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { SLOTS } from '../base/redis/slots.ts'
import { aheadMs } from './clock-skew.ts'
import { size } from './copying.ts'
import type { Finding } from './finding.ts'

type RedisConfig = NonNullable<Config['redis']>
type Examined = RedisExamination['primaries'][number]

const SKEW_MS_ODD = 100
/** Beyond it no item is sold. */
const SKEW_MS_BAD = 1_000
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

export async function checkRedis(config: Config, clock: Clock): Promise<Finding[]> {
  const { redis } = config
  if (redis === undefined) return []
  try {
    return await examineRedis(redis, SILENT, async ({ primaries, away, cluster, quorum }) => {
      const findings = [...checkCluster(cluster), ...checkQuorum(redis, quorum), ...away.map(nameAway)]
      const isOnly = primaries.length + away.length === 1
      for (const primary of primaries)
        for (const finding of await checkPrimary(config, redis, primary, clock))
          findings.push(isOnly ? finding : { ...finding, what: `${finding.what} ${primary.name}` })
      return findings
    })
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const advice = /set it to/.test(error.message)
      ? 'change REDIS_URL as it says'
      : 'check REDIS_URL: host, port, user, password, and whether that Redis lets this machine in'
    return [{ what: 'Redis', state: 'bad', found: error.message, advice }]
  }
}

/** The others answer, so it is not the address that is wrong. */
function nameAway({ name, fault }: RedisExamination['away'][number]): Finding {
  const advice =
    'start it, or let its replica take over; until then its items are sold through the ledger, or not at all'
  return { what: `Redis ${name}`, state: 'bad', found: fault.message, advice }
}

async function checkPrimary(config: Config, redis: RedisConfig, primary: Examined, clock: Clock): Promise<Finding[]> {
  return [
    checkServer(primary),
    checkDurability(primary, redis.durability),
    checkMemory(primary),
    ...checkReplicas(primary, redis),
    ...(await checkSkew(config, primary, clock)),
  ]
}

function checkCluster(cluster: RedisExamination['cluster']): Finding[] {
  if (cluster === undefined) return []
  const { ok, slotsCovered, primaries } = cluster
  const found = `${slotsCovered} of ${SLOTS} slots on ${primaries} primaries`
  if (ok && slotsCovered === SLOTS) return [{ what: 'Redis Cluster', state: 'good', found }]
  const advice = `items whose slot nobody has are sold through the ledger, or not at all; "redis-cli --cluster check" says what is missing`
  return [{ what: 'Redis Cluster', state: 'bad', found: ok ? found : `${found}; it calls itself down`, advice }]
}

function checkQuorum({ url }: RedisConfig, quorum: RedisExamination['quorum']): Finding[] {
  if (!url.startsWith('redis-sentinel:')) return []
  if (quorum?.reached) return [{ what: 'Redis Sentinel', state: 'good', found: quorum.words }]
  const advice = 'start the sentinels that are missing: without a quorum nobody is promoted when the primary dies'
  return [{ what: 'Redis Sentinel', state: 'bad', found: quorum?.words ?? 'no sentinel answers', advice }]
}

function checkServer({ facts, problems }: Examined): Finding {
  const found = `${facts.version}, ${facts.role === 'master' ? 'a primary' : 'a replica'}`
  return judged('Redis', found, problems, /version|leads to/)
}

function checkDurability({ facts, problems }: Examined, wanted: string): Finding {
  const { appendOnly, settings } = facts
  const shown = (name: keyof NonNullable<typeof settings>) => `${name} ${settings?.[name] ?? 'not shown'}`
  const found =
    wanted === 'replica'
      ? `${wanted}: ${shown('min-replicas-to-write')}, ${shown('min-replicas-max-lag')}`
      : `${wanted}: appendonly ${appendOnly ? 'yes' : 'no'}, ${shown('appendfsync')}`
  const finding = judged('Redis durability', found, problems, /REDIS_DURABILITY/, /follow the primary/)
  // Restarted without a file it is empty, and its replicas with it.
  if (finding.state === 'good' && wanted === 'replica' && !appendOnly)
    return {
      ...finding,
      state: 'odd',
      advice: 'a primary that restarts empty empties its replicas: set appendonly yes, or never restart it by itself',
    }
  return finding
}

function checkMemory({ facts, problems }: Examined): Finding {
  const limit = facts.maxmemory === 0 ? 'no limit' : `up to ${size(facts.maxmemory)}`
  return judged('Redis memory', `${limit}, ${facts.maxmemoryPolicy}`, problems, /maxmemory-policy/)
}

function checkReplicas({ facts, problems }: Examined, { durability }: RedisConfig): Finding[] {
  if (durability !== 'replica') return []
  return [judged('Redis replicas', `${facts.replicasOnline} online`, problems, /follow the primary/)]
}

/** Bad when one of the problems is about it. */
function judged(what: string, found: string, problems: readonly string[], about: RegExp, but?: RegExp): Finding {
  const its = problems.filter(problem => about.test(problem) && !but?.test(problem))
  return its.length === 0 ? { what, state: 'good', found } : { what, state: 'bad', found, advice: its.join('; ') }
}

/** Nothing when the ledger can't be asked: that is a finding of its own. */
async function checkSkew(config: Config, { nowMs }: Examined, clock: Clock): Promise<Finding[]> {
  const ledger = await openLedger(config, SILENT)
  try {
    const client = await ledger.database.connect()
    try {
      const ledgerMs = await aheadMs(clock, async () => {
        const { rows } = await client.query('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms')
        return Number(rows[0]?.ms)
      })
      const gateMs = await aheadMs(clock, nowMs)
      const skew = Math.round(Math.abs(gateMs - ledgerMs))
      const found = `${skew} ms apart from the ledger's`
      if (skew < SKEW_MS_ODD) return [{ what: 'Redis clock', state: 'good', found }]
      const advice =
        'the window is judged by this clock, and with more than a second nothing is sold: keep both machines on time with NTP (chrony, systemd-timesyncd)'
      return [{ what: 'Redis clock', state: skew < SKEW_MS_BAD ? 'odd' : 'bad', found, advice }]
    } finally {
      await client.end()
    }
  } catch (error) {
    if (error instanceof Fault) return []
    throw error
  } finally {
    await ledger.close()
  }
}
