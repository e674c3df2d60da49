/**
 * The configuration: one schema, parsed once, frozen. The only file that reads the environment. An empty value is an unset one; a bad
 * value, a combination that can't work, or a setting whose part is not built yet is one clear line that names it.
 */

import { resolve } from 'node:path'
import { z } from 'zod'
import { createClientAddress } from '../admission/client-address.ts'
import { parseRate, type Rate } from '../admission/rate-limit-policy.ts'
import { armFaultPoints } from '../base/fault-points.ts'

/** A start that can't go on because of how it was asked for. The message is for a person. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

const onOff = z.enum(['on', 'off'], 'must be "on" or "off"').transform(value => value === 'on')
const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^[0-9]{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine(value => value >= min && value <= max, `must lie between ${min} and ${max}`)
const secret = z.string().min(16, 'must have at least 16 characters')

/** What a part's own reader says about a value, as this schema's word. */
const tried =
  (read: (text: string) => unknown) =>
  (text: string, context: z.RefinementCtx): void => {
    try {
      read(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
    }
  }
const rate = (byDefault: string) => z.string().default(byDefault).superRefine(tried(parseRate)).transform(parseRate)

/** Settings of parts that are not built yet, and the values that need no part. */
const NOT_BUILT: Readonly<Record<string, readonly string[]>> = {
  REDIS_URL: [],
  REDIS_DURABILITY: [],
  REDIS_REPLICAS: [],
  KAFKA_BROKERS: [],
  ETCD_HOSTS: [],
  ROLES: ['all'],
  THREADS: ['1'],
  BUYER_JWKS_URL: [],
  CORS_ORIGINS: [],
  METRICS_PORT: [],
}

const schema = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: whole(0, 65_535).default(8080),
  PUBLIC_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) address' }).optional(),
  DATA_DIR: z.string().default('./data'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://')
    .optional(),
  FENCE_MS: whole(100, 600_000).default(5000),
  PLACED_WAIT_MS: whole(0, 60_000).default(300),
  ADMIN_TOKEN: secret.optional(),
  ADMIN_TOKENS: z.string().optional(),
  TICKET_KEYS: z.string().optional(),
  BUYER_JWT_SECRET: secret.optional(),
  BUYER_JWT_ISSUER: z.string().optional(),
  BUYER_JWT_AUDIENCE: z.string().optional(),
  GUEST_SIGN_IN: onOff.optional(),
  PAYMENT_PROVIDERS: z
    .string()
    .transform(text => text.split(',').map(name => name.trim()))
    .refine(names => names.every(name => name === 'sandbox'), 'only "sandbox" is built yet')
    .optional(),
  TRUSTED_PROXIES: z.string().default('').superRefine(tried(createClientAddress)),
  RATE_PER_ADDRESS: rate('100/1s'),
  RATE_PER_BUYER: rate('5/1s'),
  RATE_PER_ITEM: rate('off'),
  RATE_TOTAL: rate('off'),
  DEMO: onOff.optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  DRAIN_SECONDS: whole(1, 600).default(10),
  FAULT_POINTS: z.string().default(''),
})

export interface Config {
  readonly host: string
  readonly port: number
  readonly publicUrl: string | undefined
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly adminTokens: readonly { readonly name: string; readonly token: string }[]
  readonly ticketKeys: string | undefined
  readonly buyerJwt: {
    readonly secret: string | undefined
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
  readonly trustedProxies: string
  readonly paymentProviders: readonly string[]
  readonly demo: boolean
  readonly logLevel: string
  readonly drainMs: number
  readonly faultPoints: string
}

export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
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
  const parsed = schema.safeParse(given)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new ConfigError(`${issue?.path.join('.')}: ${issue?.message}`)
  }
  const env = parsed.data
  const embedded = env.DATABASE_URL === undefined
  const keyed = env.BUYER_JWT_SECRET !== undefined
  const guestSignIn = env.GUEST_SIGN_IN ?? (embedded && LOOPBACK.has(env.HOST) && !keyed)
  if (!guestSignIn && !keyed) {
    throw new ConfigError(
      'no buyer could sign in: set BUYER_JWT_SECRET to the secret your shop signs buyer tokens with, or GUEST_SIGN_IN=on',
    )
  }
  try {
    armFaultPoints(env.FAULT_POINTS)
  } catch (error) {
    throw new ConfigError(`FAULT_POINTS: ${error instanceof Error ? error.message : error}`)
  }
  return Object.freeze({
    host: env.HOST,
    port: env.PORT,
    publicUrl: env.PUBLIC_URL?.replace(/\/+$/, ''),
    dataDir: resolve(env.DATA_DIR),
    databaseUrl: env.DATABASE_URL,
    adminTokens: adminTokens(env.ADMIN_TOKEN, env.ADMIN_TOKENS),
    ticketKeys: env.TICKET_KEYS,
    buyerJwt: { secret: env.BUYER_JWT_SECRET, issuer: env.BUYER_JWT_ISSUER, audience: env.BUYER_JWT_AUDIENCE },
    guestSignIn,
    rates: {
      perAddress: env.RATE_PER_ADDRESS,
      perBuyer: env.RATE_PER_BUYER,
      perItem: env.RATE_PER_ITEM,
      total: env.RATE_TOTAL,
    },
    trustedProxies: env.TRUSTED_PROXIES,
    paymentProviders: env.PAYMENT_PROVIDERS ?? (embedded ? ['sandbox'] : []),
    demo: env.DEMO ?? embedded,
    logLevel: env.LOG_LEVEL,
    drainMs: env.DRAIN_SECONDS * 1000,
    faultPoints: env.FAULT_POINTS,
  })
}

function adminTokens(one: string | undefined, many: string | undefined): Config['adminTokens'] {
  const tokens = one === undefined ? [] : [{ name: 'admin', token: one }]
  for (const [index, part] of (many ?? '').split(',').entries()) {
    if (part.trim() === '') continue
    const colon = part.indexOf(':')
    const token = part.slice(colon + 1).trim()
    if (colon < 1 || token.length < 16)
      throw new ConfigError(`ADMIN_TOKENS: entry ${index + 1} is not name:token with a token of at least 16 characters`)
    tokens.push({ name: part.slice(0, colon).trim(), token })
  }
  return tokens
}

/** For people: every setting in force, secrets hidden. */
export function describeConfig(config: Config): Readonly<Record<string, unknown>> {
  return {
    host: config.host,
    port: config.port,
    publicUrl: config.publicUrl ?? null,
    dataDir: config.dataDir,
    ledger: config.databaseUrl === undefined ? 'embedded' : config.databaseUrl.replace(/\/\/[^@/]*@/, '//[hidden]@'),
    operators: config.adminTokens.map(({ name }) => name),
    ticketKeys: config.ticketKeys === undefined ? 'in the data folder' : '[hidden]',
    buyerJwtSecret: config.buyerJwt.secret === undefined ? null : '[hidden]',
    buyerJwtIssuer: config.buyerJwt.issuer ?? null,
    buyerJwtAudience: config.buyerJwt.audience ?? null,
    guestSignIn: config.guestSignIn,
    paymentProviders: config.paymentProviders,
    rates: Object.entries(config.rates)
      .map(([name, value]) => `${name} ${value === undefined ? 'off' : `${value.count}/${value.windowMs}ms`}`)
      .join(', '),
    trustedProxies: config.trustedProxies || null,
    demo: config.demo,
    logLevel: config.logLevel,
    drainSeconds: config.drainMs / 1000,
  }
}
