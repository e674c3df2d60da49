/**
 * What the doctor checks in the Redis of a cluster: can it be reached, does every primary keep what REDIS_DURABILITY says, may it evict
 * keys, how many replicas follow it, and does its clock agree with the ledger's, because sales open and close by it. In a Redis Cluster
 * also whether every slot is covered, with Sentinel whether a failover would find its quorum.
 */

import { examineRedis, type RedisExamination } from '../../app/compose-redis.ts'
import type { Config } from '../../app/config/config.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { SLOTS } from '../../base/redis/slots.ts'
import { size } from '../table.ts'
import { aheadMs, skewFinding } from './clock-skew.ts'
import { bad, type Finding, good, SILENT } from './finding.ts'
import { askLedger, ledgerAheadMs } from './ledger.ts'

type RedisConfig = NonNullable<Config['redis']>
type Examined = RedisExamination['primaries'][number]

export async function checkRedis(config: Config, clock: Clock): Promise<Finding[]> {
  const { redis } = config
  if (redis === undefined) return []
  try {
    return await examineRedis(redis, SILENT, async ({ primaries, away, cluster, quorum }) => {
      const findings = [...checkCluster(cluster), ...checkQuorum(redis, quorum), ...away.map(awayFinding)]
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
      : 'check REDIS_URL: host, port, user, password, and whether that Redis accepts connections from this machine'
    return [bad('Redis', error.message, advice)]
  }
}

/** The other primaries answer, so the address is right. */
function awayFinding({ name, fault }: RedisExamination['away'][number]): Finding {
  const advice = 'start it, or let its replica take over; until then its items are sold by the ledger, or not at all'
  return bad(`Redis ${name}`, fault.message, advice)
}

async function checkPrimary(config: Config, redis: RedisConfig, primary: Examined, clock: Clock): Promise<Finding[]> {
  const { facts, problems } = primary
  const server = `${facts.version}, ${facts.role === 'master' ? 'a primary' : 'a replica'}`
  const limit = facts.maxmemory === 0 ? 'no limit' : `up to ${size(facts.maxmemory)}`
  return [
    judged('Redis', server, problems, /version|leads to/),
    checkDurability(primary, redis.durability),
    judged('Redis memory', `${limit}, ${facts.maxmemoryPolicy}`, problems, /maxmemory-policy/),
    ...(redis.durability === 'replica'
      ? [judged('Redis replicas', `${facts.replicasOnline} online`, problems, /follow the primary/)]
      : []),
    ...(await checkSkew(config, primary, clock)),
  ]
}

function checkCluster(cluster: RedisExamination['cluster']): Finding[] {
  if (cluster === undefined) return []
  const { ok, slotsCovered, primaries } = cluster
  const found = `${slotsCovered} of ${SLOTS} slots on ${primaries} primaries`
  if (ok && slotsCovered === SLOTS) return [good('Redis Cluster', found)]
  const advice = `items in a slot without a primary are sold by the ledger, or not at all; "redis-cli --cluster check" says what is missing`
  return [bad('Redis Cluster', ok ? found : `${found}; it reports cluster_state:fail`, advice)]
}

function checkQuorum({ url }: RedisConfig, quorum: RedisExamination['quorum']): Finding[] {
  if (!url.startsWith('redis-sentinel:')) return []
  if (quorum?.reached) return [good('Redis Sentinel', quorum.words)]
  const advice = 'start the sentinels that are missing: without a quorum no replica is promoted when the primary dies'
  return [bad('Redis Sentinel', quorum?.words ?? 'no sentinel answers', advice)]
}

function checkDurability({ facts, problems }: Examined, wanted: string): Finding {
  const { appendOnly, settings } = facts
  const shown = (name: keyof NonNullable<typeof settings>) => `${name} ${settings?.[name] ?? 'not shown'}`
  const found =
    wanted === 'replica'
      ? `${wanted}: ${shown('min-replicas-to-write')}, ${shown('min-replicas-max-lag')}`
      : `${wanted}: appendonly ${appendOnly ? 'yes' : 'no'}, ${shown('appendfsync')}`
  const finding = judged('Redis durability', found, problems, /REDIS_DURABILITY/, /follow the primary/)
  // Restarted without a file a primary is empty, and its replicas with it.
  if (finding.state !== 'good' || wanted !== 'replica' || appendOnly) return finding
  const advice = 'a primary that restarts empty empties its replicas: set appendonly yes, or never restart it by itself'
  return { ...finding, state: 'odd', advice }
}

/** Bad when one of the problems is about it. */
function judged(what: string, found: string, problems: readonly string[], about: RegExp, but?: RegExp): Finding {
  const its = problems.filter(problem => about.test(problem) && !but?.test(problem))
  return its.length === 0 ? good(what, found) : bad(what, found, its.join('; '))
}

/** Nothing when the ledger can't be asked: that is a finding of its own. */
async function checkSkew(config: Config, { nowMs }: Examined, clock: Clock): Promise<Finding[]> {
  try {
    const ledgerMs = await askLedger(config, ask => ledgerAheadMs(clock, ask))
    const skewMs = (await aheadMs(clock, nowMs)) - ledgerMs
    const why = 'sales open and close by this clock, and with more than a second nothing is sold'
    return [skewFinding('Redis clock', skewMs, why)]
  } catch (error) {
    if (error instanceof Fault) return []
    throw error
  }
}
