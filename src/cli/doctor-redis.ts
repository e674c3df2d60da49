/**
 * What the doctor asks the Redis of a cluster: can it be reached, does it keep what REDIS_DURABILITY says, may it throw anything away,
 * who follows it, and does its clock agree with the ledger's, since the window is judged by its own.
 */

import { openLedger } from '../app/compose-ledger.ts'
import { examineRedis, type RedisExamination } from '../app/compose-redis.ts'
import type { Config } from '../app/config.ts'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { size } from './copying.ts'
import type { Finding } from './finding.ts'

const SKEW_MS_ODD = 100
/** Beyond it no item is sold. */
const SKEW_MS_BAD = 1_000
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

export async function checkRedis(config: Config, clock: Clock): Promise<Finding[]> {
  const { redis } = config
  if (redis === undefined) return []
  try {
    return await examineRedis(redis, SILENT, async examination => [
      checkServer(examination),
      checkDurability(examination, redis.durability),
      checkMemory(examination),
      ...checkReplicas(examination, redis),
      ...(await checkSkew(config, examination, clock)),
    ])
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [
      {
        what: 'Redis',
        state: 'bad',
        found: error.message,
        advice: 'check REDIS_URL: host, port, user, password, and whether that Redis lets this machine in',
      },
    ]
  }
}

function checkServer({ facts, problems }: RedisExamination): Finding {
  const found = `${facts.version}, ${facts.role === 'master' ? 'a primary' : 'a replica'}`
  return judged('Redis', found, problems, /version|leads to|mode/)
}

function checkDurability({ facts, problems }: RedisExamination, wanted: string): Finding {
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

function checkMemory({ facts, problems }: RedisExamination): Finding {
  const limit = facts.maxmemory === 0 ? 'no limit' : `up to ${size(facts.maxmemory)}`
  return judged('Redis memory', `${limit}, ${facts.maxmemoryPolicy}`, problems, /maxmemory-policy/)
}

function checkReplicas({ facts, problems }: RedisExamination, { durability }: NonNullable<Config['redis']>): Finding[] {
  if (durability !== 'replica') return []
  return [judged('Redis replicas', `${facts.replicasOnline} online`, problems, /follow the primary/)]
}

/** Bad when one of the problems is about it. */
function judged(what: string, found: string, problems: readonly string[], about: RegExp, but?: RegExp): Finding {
  const its = problems.filter(problem => about.test(problem) && !but?.test(problem))
  return its.length === 0 ? { what, state: 'good', found } : { what, state: 'bad', found, advice: its.join('; ') }
}

/** Nothing when the ledger can't be asked: that is a finding of its own. */
async function checkSkew(config: Config, { nowMs }: RedisExamination, clock: Clock): Promise<Finding[]> {
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

/** How far that clock is ahead of ours, halfway between asking and being told. */
async function aheadMs(clock: Clock, ask: () => Promise<number>): Promise<number> {
  const before = clock.now()
  const there = await ask()
  return there - (before + clock.now()) / 2
}
