/** The configuration as it is in force, for people: every setting under its own name and in the form it is set in, secrets hidden; null: unset. */

import type { Rate } from '../admission/rate-limit-policy.ts'
import type { Config } from './config.ts'
import { ROLES } from './settings.ts'

const HIDDEN = '[hidden]'
const UNITS = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

export function describeConfig(config: Config): Readonly<Record<string, unknown>> {
  const { redis, rates, buyerJwt } = config
  return {
    HOST: config.host,
    PORT: config.port,
    PUBLIC_URL: config.publicUrl ?? null,
    CORS_ORIGINS: listed(config.corsOrigins),
    DATA_DIR: config.dataDir,
    DATABASE_URL: addressed(config.databaseUrl),
    REDIS_URL: addressed(redis?.url),
    REDIS_DURABILITY: redis?.durability ?? null,
    REDIS_DURABILITY_UNVERIFIED: redis === undefined ? null : onOff(redis.unverified),
    REDIS_REPLICAS: redis?.durability === 'replica' ? redis.replicas : null,
    ROLES: ROLES.every(role => config.roles.includes(role)) ? 'all' : listed(config.roles),
    THREADS: 1,
    FENCE_MS: config.fenceMs,
    PLACED_WAIT_MS: config.placedWaitMs,
    ADMIN_TOKEN: config.adminTokens.some(({ from }) => from === 'ADMIN_TOKEN') ? HIDDEN : null,
    ADMIN_TOKENS: listed(
      config.adminTokens.filter(({ from }) => from === 'ADMIN_TOKENS').map(({ name }) => `${name}:${HIDDEN}`),
    ),
    TICKET_KEYS: hidden(config.ticketKeys),
    BUYER_JWT_SECRET: hidden(buyerJwt.secret),
    BUYER_JWKS_URL: addressed(buyerJwt.jwksUrl),
    BUYER_JWT_ISSUER: buyerJwt.issuer ?? null,
    BUYER_JWT_AUDIENCE: buyerJwt.audience ?? null,
    GUEST_SIGN_IN: onOff(config.guestSignIn),
    PAYMENT_PROVIDERS: listed(config.paymentProviders),
    TRUSTED_PROXIES: config.trustedProxies || null,
    RATE_PER_ADDRESS: rateText(rates.perAddress),
    RATE_PER_BUYER: rateText(rates.perBuyer),
    RATE_PER_ITEM: rateText(rates.perItem),
    RATE_TOTAL: rateText(rates.total),
    RATE_SCOPE: config.rateSharing === undefined ? 'edge' : 'cluster',
    RATE_EDGES: config.rateSharing?.edgesAssumed ?? null,
    DEMO: onOff(config.demo),
    LOG_LEVEL: config.logLevel,
    METRICS_PORT: config.metricsPort ?? null,
    DRAIN_SECONDS: config.drainMs / 1000,
    FAULT_POINTS: config.faultPoints || null,
    ...(config.missing !== undefined && { missing: config.missing }),
  }
}

const onOff = (value: boolean) => (value ? 'on' : 'off')
const listed = (values: readonly string[]) => values.join(',') || null
const hidden = (value: string | undefined) => (value === undefined ? null : HIDDEN)
const addressed = (address: string | undefined) => (address === undefined ? null : withoutSecrets(address))

function rateText(rate: Rate | undefined): string {
  if (rate === undefined) return 'off'
  const { count, windowMs, burst } = rate
  const [unit, ms] = UNITS.find(([, ms]) => windowMs % ms === 0) ?? ['ms', 1]
  return `${count}/${windowMs / ms}${unit}${burst === undefined ? '' : ` burst ${burst}`}`
}

/** An address as people write it: a password may hold any character, also unescaped, and may stand behind the question mark. */
function withoutSecrets(address: string): string {
  return address
    .replace(/\/\/.*@/, `//${HIDDEN}@`)
    .replace(/([?&][^=&]*(?:pass|secret|key|token)[^=&]*=)[^&]*/gi, `$1${HIDDEN}`)
}
