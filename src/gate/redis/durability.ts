/**
 * E11: what an acknowledged reservation survives is stated (`disk`, `replica` or `memory`), and every server is held to it: at the start,
 * which goes no further otherwise, whenever another server takes over, and by the doctor. One line for each thing that is not as it must
 * be, with what to do about it. Only reads. What `docs/durability.md` promises of each level rests on what is asked for here.
 *
 * Too few replicas is the one line that may mend itself: after a failover the heir has none until the dead server is back. Nothing is
 * promised there meanwhile, whoever starts; the caller decides what it means.
 *
 * Where the server does not show its settings (CONFIG is forbidden, as managed ones do), INFO tells some of them. The rest can't be
 * verified, and that is a line too unless the operator has said that it is so.
 */

import { Bug } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import type { Durability, Primary } from '../../base/redis/connection.ts'
import type { RedisTarget } from '../../base/redis/redis-url.ts'

const VERSION_MIN = 7
const SETTINGS = [
  'appendfsync',
  'no-appendfsync-on-rewrite',
  'maxmemory-policy',
  'min-replicas-to-write',
  'min-replicas-max-lag',
] as const

type RedisFacts = Awaited<ReturnType<typeof readFacts>>

/** What the server says of itself. */
export async function readFacts(connection: Pick<Primary, 'command'>) {
  const info = String(await connection.command(['INFO', 'everything']))
  const of = (field: string) => new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  return {
    version: of('redis_version'),
    role: of('role'),
    mode: of('redis_mode'),
    appendOnly: of('aof_enabled') === '1',
    maxmemoryPolicy: of('maxmemory_policy'),
    /** Bytes; 0 is no limit. */
    maxmemory: Number(of('maxmemory')),
    /** Replicas that follow it right now. */
    replicasOnline: info.match(/^slave\d+:.*\bstate=online\b/gm)?.length ?? 0,
    settings: await readSettings(connection),
  }
}

/** What the operator has said of the servers. */
export interface Stated {
  readonly kind: RedisTarget['kind']
  readonly durability: Durability
  readonly replicas: number
  /** The operator answers for what a server does not show. */
  readonly unverified: boolean
}

/** What a server of another kind than REDIS_URL says is to be addressed as. Undefined: it is of that kind. */
export function otherKind(kind: RedisTarget['kind'], mode: string): string | undefined {
  const found = mode === 'sentinel' || mode === 'cluster' ? mode : 'single'
  if (found === kind) return undefined
  if (found === 'sentinel')
    return 'REDIS_URL leads to a sentinel, which takes no reservations: set it to redis-sentinel://host:26379,host:26379/name, with all sentinels and the name they have for the primary'
  if (found === 'cluster')
    return 'REDIS_URL leads to a node of a Redis Cluster: set it to redis-cluster://host:port,host:port, with some of the nodes'
  return `REDIS_URL begins with redis-${kind}://, but leads to a server that is ${kind === 'cluster' ? 'no node of a cluster' : 'no sentinel'}: set it to redis://host:port`
}

/** A line, or nothing where all is as it must be. */
type Finding = string | false | undefined

/** Empty: the server keeps what this level says. */
export function problemsOf(facts: RedisFacts, stated: Stated): readonly string[] {
  const { version, role, mode, maxmemoryPolicy } = facts
  const { kind, durability } = stated
  // Behind sentinels there is an ordinary server. One of another kind has none of the rest.
  const other = otherKind(kind === 'sentinel' ? 'single' : kind, mode)
  if (other !== undefined) return [other]
  const findings = [
    Number.parseInt(version, 10) < VERSION_MIN && `Redis is version ${version}: use ${VERSION_MIN}.0 or newer`,
    role !== 'master' && 'REDIS_URL leads to a replica, which takes no reservations: set it to the primary',
    maxmemoryPolicy !== 'noeviction' &&
      `Redis may throw away reservations when its memory is full (maxmemory-policy is ${maxmemoryPolicy}): ${set('maxmemory-policy', 'noeviction')}`,
    ...(durability === 'disk' ? diskFindings(facts, stated) : []),
    ...(durability === 'replica' ? replicaFindings(facts, stated) : []),
  ]
  return findings.filter(line => typeof line === 'string')
}

function diskFindings({ appendOnly, settings }: RedisFacts, { unverified }: Stated): readonly Finding[] {
  const appends =
    !appendOnly &&
    `REDIS_DURABILITY=disk, but Redis writes nothing down as it goes (appendonly is no): ${set('appendonly', 'yes')}`
  if (settings === undefined) return [appends, !unverified && hidden('appendfsync is "always"')]
  const { appendfsync, 'no-appendfsync-on-rewrite': paused } = settings
  return [
    appends,
    appendfsync !== 'always' &&
      `REDIS_DURABILITY=disk, but Redis answers before its disk has it (appendfsync is ${appendfsync}): ${set('appendfsync', 'always')}, or set REDIS_DURABILITY=replica or memory`,
    paused !== 'no' &&
      `REDIS_DURABILITY=disk, but Redis stops waiting for its disk while it rewrites its file (no-appendfsync-on-rewrite is ${paused}): ${set('no-appendfsync-on-rewrite', 'no')}`,
  ]
}

/** The line of `problemsOf` that says so. Undefined: enough follow it, or none has to. */
export function tooFewReplicas({ replicasOnline }: RedisFacts, { durability, replicas }: Stated): string | undefined {
  if (durability !== 'replica' || replicasOnline >= replicas) return undefined
  return `REDIS_DURABILITY=replica with REDIS_REPLICAS=${replicas}, but ${replicasOnline} follow the primary: start more replicas, or lower REDIS_REPLICAS`
}

function replicaFindings(facts: RedisFacts, stated: Stated): readonly Finding[] {
  const { settings } = facts
  const { replicas, unverified } = stated
  const few = tooFewReplicas(facts, stated)
  if (settings === undefined) return [few, !unverified && hidden(`min-replicas-to-write is at least ${replicas}`)]
  const { 'min-replicas-to-write': toWrite, 'min-replicas-max-lag': lag } = settings
  return [
    few,
    Number(toWrite) < replicas &&
      `REDIS_DURABILITY=replica, but a primary that nobody follows any more would go on selling (min-replicas-to-write is ${toWrite}): ${set('min-replicas-to-write', String(replicas))}, on the replicas too`,
    // 0 turns the setting above off.
    Number(lag) < 1 &&
      `REDIS_DURABILITY=replica, but it never notices that a replica is gone (min-replicas-max-lag is ${lag}): ${set('min-replicas-max-lag', '10')}`,
  ]
}

function set(name: string, value: string): string {
  return `"CONFIG SET ${name} ${value}", and the same in its configuration file`
}

function hidden(what: string): string {
  return `Redis does not show its settings (CONFIG is forbidden), so nobody can verify that ${what}: look yourself, then set REDIS_DURABILITY_UNVERIFIED=on`
}

/** Undefined: the server does not take CONFIG from us. */
async function readSettings(connection: Pick<Primary, 'command'>) {
  let reply: unknown
  try {
    reply = await connection.command(['CONFIG', 'GET', ...SETTINGS])
  } catch (error) {
    if (isForbidden(error)) return undefined
    throw error
  }
  const pairs = new Map<string, string>()
  const list: readonly unknown[] = Array.isArray(reply) ? reply : Object.entries(reply ?? {}).flat()
  for (let i = 0; i + 1 < list.length; i += 2) pairs.set(String(list[i]), String(list[i + 1]))
  // A server that leaves one of them out hides it.
  if (!SETTINGS.every(name => pairs.has(name))) return undefined
  return Object.fromEntries(pairs) as Record<(typeof SETTINGS)[number], string>
}

/** By the rules of its users, or because the command was taken away or renamed. */
function isForbidden(error: unknown): boolean {
  if (!(error instanceof Fault || error instanceof Bug)) return false
  return /\bNOPERM\b|unknown (sub)?command/i.test(error.message)
}
