/**
 * The configuration: one schema (`settings.ts`), parsed once, frozen. The only file that reads the environment. An empty value is an unset one; a bad
 * value, a combination that can't work, or a setting whose part is not built yet is one clear line that names it. What only serving needs
 * stops `readConfig` alone: a database is migrated, looked at and copied without it.
 */

import { resolve } from 'node:path'
import type { z } from 'zod'
import { operatorProblem } from '../admission/operator.ts'
import type { Rate } from '../admission/rate-limit-policy.ts'
import { armFaultPoints } from '../base/fault-points.ts'
import { parseRedisUrl } from '../base/redis/redis-url.ts'
import { NOT_BUILT, type ROLES, settings } from './settings.ts'

/** A start that can't go on because of how it was asked for. The message is for a person. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const NO_SIGN_IN =
  'no buyer could sign in: set BUYER_JWT_SECRET to the secret your shop signs buyer tokens with, BUYER_JWKS_URL to where it publishes its keys, or GUEST_SIGN_IN=on'

/** What it is without being set: saying so is no mistake. */
const WITHOUT_REDIS: Readonly<Record<string, string>> = { REDIS_DURABILITY: 'disk', REDIS_DURABILITY_UNVERIFIED: 'off' }

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

interface AdminToken {
  readonly name: string
  readonly token: string
  /** The setting that named it. */
  readonly from: 'ADMIN_TOKEN' | 'ADMIN_TOKENS'
}

export interface Config {
  readonly host: string
  readonly port: number
  readonly publicUrl: string | undefined
  readonly corsOrigins: readonly string[]
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  /** Undefined: the gate is in the process. */
  readonly redis:
    | {
        readonly url: string
        readonly durability: 'disk' | 'replica' | 'memory'
        readonly replicas: number
        /** What can't be read of its settings is believed. */
        readonly unverified: boolean
      }
    | undefined
  readonly roles: readonly (typeof ROLES)[number][]
  readonly fenceMs: number
  readonly placedWaitMs: number
  readonly adminTokens: readonly AdminToken[]
  readonly ticketKeys: string | undefined
  readonly buyerJwt: {
    readonly secret: string | undefined
    readonly jwksUrl: string | undefined
    readonly issuer: string | undefined
    readonly audience: string | undefined
  }
  readonly guestSignIn: boolean
  readonly rates: {
    readonly perAddress: Rate | undefined
    readonly perBuyer: Rate | undefined
    readonly perItem: Rate | undefined
    readonly total: Rate | undefined
  }
  /** Undefined: each process counts for itself. */
  readonly rateSharing: { readonly edgesAssumed: number } | undefined
  readonly trustedProxies: string
  readonly paymentProviders: readonly string[]
  readonly demo: boolean
  readonly logLevel: string
  readonly drainMs: number
  /** Undefined: metrics only on the main port. */
  readonly metricsPort: number | undefined
  readonly faultPoints: string
  /** What serving can't do without, and why; undefined when all of it is there. */
  readonly missing: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** For whoever serves: all of it must be there. */
export function readConfig(environment: Environment = process.env): Config {
  const config = readConfigForTools(environment)
  if (config.missing !== undefined) throw new ConfigError(config.missing)
  return config
}

/** For commands that serve nobody. */
export function readConfigForTools(environment: Environment = process.env): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  ) as Record<string, string>
  for (const [name, harmless] of Object.entries(NOT_BUILT)) {
    const value = given[name]
    if (value !== undefined && !harmless.includes(value)) {
      throw new ConfigError(
        `${name} is set, but the part it belongs to is not built yet: unset it${harmless.length > 0 ? ` (or use ${harmless.join(', ')})` : ''}`,
      )
    }
  }
  const parsed = settings.safeParse(given)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new ConfigError(`${issue?.path.join('.')}: ${issue?.message}`)
  }
  const env = parsed.data
  const embedded = env.DATABASE_URL === undefined
  for (const name of ['REDIS_REPLICAS', 'REDIS_DURABILITY', 'REDIS_DURABILITY_UNVERIFIED'] as const) {
    if (env.REDIS_URL === undefined && given[name] !== undefined && given[name] !== WITHOUT_REDIS[name])
      throw new ConfigError(`${name} needs REDIS_URL: without it the gate is in the process`)
  }
  if (env.METRICS_PORT !== undefined && env.METRICS_PORT === env.PORT)
    throw new ConfigError(`METRICS_PORT: must differ from PORT, which is ${env.PORT}`)
  const operators = adminTokens(env.ADMIN_TOKEN, env.ADMIN_TOKENS)
  const redis = redisOf(env)
  const keyed = env.BUYER_JWT_SECRET !== undefined || env.BUYER_JWKS_URL !== undefined
  const guestSignIn = env.GUEST_SIGN_IN ?? (embedded && LOOPBACK.has(env.HOST) && !keyed)
  try {
    armFaultPoints(env.FAULT_POINTS)
  } catch (error) {
    throw new ConfigError(`FAULT_POINTS: ${error instanceof Error ? error.message : error}`)
  }
  return Object.freeze({
    host: env.HOST,
    port: env.PORT,
    publicUrl: env.PUBLIC_URL?.replace(/\/+$/, ''),
    corsOrigins: env.CORS_ORIGINS,
    dataDir: resolve(env.DATA_DIR),
    databaseUrl: env.DATABASE_URL,
    redis,
    roles: env.ROLES,
    fenceMs: env.FENCE_MS,
    placedWaitMs: env.PLACED_WAIT_MS,
    adminTokens: operators,
    ticketKeys: env.TICKET_KEYS,
    buyerJwt: {
      secret: env.BUYER_JWT_SECRET,
      jwksUrl: env.BUYER_JWKS_URL,
      issuer: env.BUYER_JWT_ISSUER,
      audience: env.BUYER_JWT_AUDIENCE,
    },
    guestSignIn,
    rates: {
      perAddress: env.RATE_PER_ADDRESS,
      perBuyer: env.RATE_PER_BUYER,
      perItem: env.RATE_PER_ITEM,
      total: env.RATE_TOTAL,
    },
    rateSharing: rateSharingOf(env),
    trustedProxies: env.TRUSTED_PROXIES,
    paymentProviders: env.PAYMENT_PROVIDERS ?? (embedded ? ['sandbox'] : []),
    demo: env.DEMO ?? embedded,
    logLevel: env.LOG_LEVEL,
    drainMs: env.DRAIN_SECONDS * 1000,
    metricsPort: env.METRICS_PORT,
    faultPoints: env.FAULT_POINTS,
    missing: missingInCluster(env) ?? (guestSignIn || keyed ? undefined : NO_SIGN_IN),
  })
}

/** Where the commands that speak to a running server find it, and what they say who they are. */
export interface CliEnvironment {
  readonly server: string
  readonly token: string | undefined
  readonly dataDir: string
}

/** Lenient on purpose: what the server would refuse at its start is no reason not to ask one that runs elsewhere. */
export function readCliEnvironment(environment: Environment = process.env): CliEnvironment {
  const given = (name: string) => environment[name] || undefined
  const host = given('HOST') ?? '127.0.0.1'
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const port = given('PORT') ?? '8080'
  const named = (given('ADMIN_TOKENS') ?? '').split(',')[0] ?? ''
  return {
    server: given('STAMPEDE_SERVER') ?? `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`,
    token: given('STAMPEDE_TOKEN') ?? given('ADMIN_TOKEN') ?? (named.slice(named.indexOf(':') + 1).trim() || undefined),
    dataDir: resolve(given('DATA_DIR') ?? './data'),
  }
}

/** What a cluster can't do without is missing here or nowhere. */
function missingInCluster(env: z.infer<typeof settings>): string | undefined {
  if (env.REDIS_URL === undefined) return undefined
  const missing = [
    env.DATABASE_URL === undefined && 'DATABASE_URL (the processes of a cluster share one ledger)',
    env.ADMIN_TOKEN === undefined && env.ADMIN_TOKENS === undefined && 'ADMIN_TOKEN (or ADMIN_TOKENS)',
    env.TICKET_KEYS === undefined && 'TICKET_KEYS (a ticket of one edge must be good at every other)',
  ].filter(text => text !== false)
  return missing.length === 0 ? undefined : `REDIS_URL makes this a cluster, which also needs ${missing.join(' and ')}`
}

function redisOf(env: z.infer<typeof settings>): Config['redis'] {
  if (env.REDIS_URL === undefined) {
    if (env.ROLES.length < 3) throw new ConfigError('ROLES needs REDIS_URL: without it one process does everything')
    return undefined
  }
  // Nor may a tool go on: it would open an embedded ledger where the cluster's is meant.
  if (env.DATABASE_URL === undefined) throw new ConfigError(missingInCluster(env))
  if (env.REDIS_DURABILITY !== 'replica' && env.REDIS_REPLICAS !== undefined)
    throw new ConfigError('REDIS_REPLICAS only means something with REDIS_DURABILITY=replica')
  const { kind } = parseRedisUrl(env.REDIS_URL)
  if (kind !== 'single' && env.REDIS_DURABILITY === 'disk')
    throw new ConfigError(
      `REDIS_DURABILITY=disk can't be kept with redis-${kind}://: a failover goes to a replica, and what only the disk of the first server has is lost with it. Set REDIS_DURABILITY=replica (and REDIS_REPLICAS), and min-replicas-to-write on every server`,
    )
  return {
    url: env.REDIS_URL,
    durability: env.REDIS_DURABILITY,
    replicas: env.REDIS_REPLICAS ?? 1,
    unverified: env.REDIS_DURABILITY_UNVERIFIED,
  }
}

function rateSharingOf(env: z.infer<typeof settings>): Config['rateSharing'] {
  if (env.RATE_SCOPE === 'cluster' && env.REDIS_URL === undefined)
    throw new ConfigError('RATE_SCOPE=cluster needs REDIS_URL: limits over all edges are counted in Redis')
  const shared = env.REDIS_URL !== undefined && env.RATE_SCOPE !== 'edge'
  return shared ? { edgesAssumed: env.RATE_EDGES } : undefined
}

function adminTokens(one: string | undefined, many: string | undefined): Config['adminTokens'] {
  const tokens: AdminToken[] = one === undefined ? [] : [{ name: 'admin', token: one, from: 'ADMIN_TOKEN' }]
  const places = new Map<string, string>()
  for (const [index, part] of (many ?? '').split(',').entries()) {
    if (part.trim() === '') continue
    const colon = part.indexOf(':')
    const token = part.slice(colon + 1).trim()
    const entry = `ADMIN_TOKENS: entry ${index + 1}`
    if (colon < 1 || token.length < 16)
      throw new ConfigError(`${entry} is not name:token with a token of at least 16 characters`)
    const operator = { name: part.slice(0, colon).trim(), token, from: 'ADMIN_TOKENS' } as const
    const problem = operatorProblem(operator)
    if (problem !== undefined) throw new ConfigError(`${entry}: ${problem}`)
    const same = token === one ? 'ADMIN_TOKEN' : places.get(token)
    if (same !== undefined) throw new ConfigError(`${entry} has the same token as ${same}`)
    places.set(token, `entry ${index + 1}`)
    tokens.push(operator)
  }
  if (many !== undefined && places.size === 0) throw new ConfigError('ADMIN_TOKENS: names nobody, must be name:token')
  return tokens
}
