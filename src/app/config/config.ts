/**
 * Reads the environment, and is the only file that does: once, without any side effect, into a frozen configuration; also the file
 * that a setting names, if its content is needed for the whole life of the process. The settings are declared
 * in `settings.ts`. An empty value counts as unset. The first setting that is wrong, alone or together with others, is a ConfigError of one line.
 * What only a server needs stops `readConfig` alone: a database is migrated, examined and copied without it.
 */

import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { readOperator } from '../../admission/operator.ts'
import { alertsOf } from './alert-settings.ts'
import { challengeProviderOf } from './challenge-settings.ts'
import { pagesOf } from './pages-settings.ts'
import { furtherSettings, readAccounts } from './payment/payment-settings.ts'
import { networkRatesOfCalls } from './rate-settings.ts'
import type { Setting, Texts, Value } from './setting.ts'
import { atHome, SETTINGS } from './settings.ts'

/** A start that can't go on because of how it was asked for. The message is for a person. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

type Environment = Readonly<Record<string, string | undefined>>
type Values = { readonly [Name in keyof typeof SETTINGS]: Value<(typeof SETTINGS)[Name]> }

type Declared = readonly [string, Setting<z.ZodType, string | undefined>][]

/** All settings, with those of the payment accounts that the environment names. */
function declaredIn({ PAYMENT_PROVIDERS }: Environment): Declared {
  return Object.entries({ ...SETTINGS, ...furtherSettings(PAYMENT_PROVIDERS) }) as unknown as Declared
}

export type Config = ReturnType<typeof configOf>

/** For a server: everything it needs must be there. What the command line gives wins. */
export function readConfig(environment: Environment = process.env, given: Environment = {}): Config {
  const config = readConfigForTools({ ...environment, ...given })
  if (config.missing !== undefined) throw new ConfigError(config.missing)
  return config
}

/** For commands other than `serve`: what only a server needs may be missing. */
export function readConfigForTools(environment: Environment = process.env): Config {
  const declared = declaredIn(environment)
  const texts = textsOf(declared, environment)
  const values = valuesOf(declared, texts)
  for (const [name, { conflict }] of declared) {
    const line = texts[name] === undefined ? undefined : conflict?.(texts, values[name])
    if (line !== undefined) throw new ConfigError(line)
  }
  return configOf(declared, values as unknown as Values, texts)
}

function textsOf(declared: Declared, environment: Environment): Texts {
  const texts: Record<string, string | undefined> = {}
  for (const [name] of declared) texts[name] = environment[name] || undefined
  for (const [name, setting] of declared) texts[name] ??= setting.default ?? setting.unset?.(texts)
  return texts
}

function valuesOf(declared: Declared, texts: Texts): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {}
  for (const [name, { schema }] of declared) {
    const text = texts[name]
    if (text === undefined) continue
    const parsed = schema.safeParse(text)
    if (!parsed.success) throw new ConfigError(`${name}: ${parsed.error.issues[0]?.message}`)
    values[name] = parsed.data
  }
  return values
}

function configOf(declared: Declared, values: Values, texts: Texts) {
  const payments = readAccounts(values.PAYMENT_PROVIDERS ?? [], texts, values)
  const lines = declared.map(([, setting]) => setting.missing?.(texts))
  const missing = [...lines, payments.missing].find(line => line !== undefined)
  return Object.freeze({
    host: values.HOST,
    port: values.PORT,
    publicUrl: values.PUBLIC_URL,
    corsOrigins: values.CORS_ORIGINS ?? [],
    dataDir: values.DATA_DIR,
    databaseUrl: values.DATABASE_URL,
    /** Undefined: the gate is in the process. */
    redis: redisOf(values),
    /** Undefined: nothing is sent to Kafka. */
    kafka: kafkaOf(values),
    roles: values.ROLES,
    /** Retired. Read only to say so. */
    threads: values.THREADS,
    fenceMs: values.FENCE_MS,
    placedWaitMs: values.PLACED_WAIT_MS,
    adminTokens: [
      ...(values.ADMIN_TOKEN === undefined
        ? []
        : [{ name: 'admin', role: 'admin' as const, token: values.ADMIN_TOKEN }]),
      ...(values.ADMIN_TOKENS ?? []),
    ],
    ticketKeys: values.TICKET_KEYS,
    ticketBinding: values.TICKET_BINDING,
    buyerJwt: {
      secret: values.BUYER_JWT_SECRET,
      jwksUrl: values.BUYER_JWKS_URL,
      issuer: values.BUYER_JWT_ISSUER,
      audience: values.BUYER_JWT_AUDIENCE,
      /** Tokens without an end are accepted. */
      endless: values.BUYER_JWT_EXP === 'optional',
    },
    guestSignIn: values.GUEST_SIGN_IN,
    signInUrl: values.SIGN_IN_URL,
    rates: {
      perAddress: values.RATE_PER_ADDRESS,
      networks: {
        v4Network: values.RATE_PER_IPV4_24,
        v6Subnet: values.RATE_PER_IPV6_64,
        v6Home: values.RATE_PER_IPV6_56,
        v6Site: values.RATE_PER_IPV6_48,
      },
      perBuyer: values.RATE_PER_BUYER,
      perItem: values.RATE_PER_ITEM,
      total: values.RATE_TOTAL,
    },
    callRates: {
      perAddress: values.RATE_CALLS_PER_ADDRESS,
      networks: networkRatesOfCalls(values.RATE_CALLS_PER_ADDRESS),
      perBuyer: values.RATE_CALLS_PER_BUYER,
      listsPerBuyer: values.RATE_LISTS_PER_BUYER,
    },
    abuseClaims: values.ABUSE_CLAIMS ?? [],
    /** Undefined: no program of the shop is asked about buyers. */
    risk: riskOf(values),
    /** Of sales whose terms say nothing. */
    holds:
      (values.HOLDS_PER_BUYER ?? values.HOLDS_PER_PREFIX) === undefined
        ? undefined
        : { perBuyer: values.HOLDS_PER_BUYER, perPrefix: values.HOLDS_PER_PREFIX },
    socketsPerAddressMax: values.SOCKETS_PER_ADDRESS,
    /** Undefined: each process counts for itself. */
    rateSharing: values.RATE_SCOPE === 'cluster' ? { edgesAssumed: values.RATE_EDGES } : undefined,
    trustedProxies: values.TRUSTED_PROXIES,
    /** Undefined: challenges are proofs of work. */
    challengeProvider: challengeProviderOf(values),
    drandHosts: values.DRAND_HOSTS,
    /** The names, and the same with their keys. */
    paymentProviders: values.PAYMENT_PROVIDERS ?? [],
    paymentAccounts: payments.accounts,
    demo: values.DEMO,
    warmCode: values.WARM_CODE,
    logLevel: values.LOG_LEVEL,
    logsHashedBuyers: values.LOG_BUYERS === 'hashed',
    drainMs: values.DRAIN_SECONDS * 1000,
    /** Undefined: metrics only on the main port. */
    metricsPort: values.METRICS_PORT,
    metricsHost: values.METRICS_HOST,
    /** Undefined: orders stay where they were placed. */
    archiveAfterMs: values.ARCHIVE_AFTER,
    events: {
      written: values.EVENTS,
      /** Undefined: for good. */
      keptMs: values.EVENTS_KEPT,
      /** Undefined: no order is told as closing soon. */
      closingSoonMs: values.CLOSING_SOON_SECONDS === 0 ? undefined : values.CLOSING_SOON_SECONDS * 1000,
      /** Of every event: the installation it comes from. */
      source: values.PUBLIC_URL ?? 'stampede',
    },
    webhooks: {
      rules: values.WEBHOOK_ALLOW_PRIVATE,
      timeoutMs: values.WEBHOOK_TIMEOUT_MS,
      retryMs: values.WEBHOOK_RETRY_SECONDS * 1000,
    },
    alerts: alertsOf(values),
    /** Undefined: no pages are written as files. */
    pages: pagesOf(values),
    /** Undefined: nothing is traced. */
    traces: tracesOf(values),
    faultPoints: values.FAULT_POINTS ?? '',
    /** Only its owner can reach it, and no shop sells with it: parts for trying it out are on by default. */
    atHome: atHome(texts),
    /** What a server can't do without, and why; undefined when nothing is missing. */
    missing,
    /** What is in force, for people: every setting under its own name and in the form it is set in; null: unset. No secrets. */
    shown: shownOf(declared, values, texts, missing),
  })
}

function redisOf(values: Values) {
  if (values.REDIS_URL === undefined) return undefined
  return {
    url: values.REDIS_URL,
    durability: values.REDIS_DURABILITY,
    // Only read with the durability `replica`.
    replicas: values.REDIS_REPLICAS ?? 1,
    /** Settings that Redis does not let us read are taken to be right. */
    unverified: values.REDIS_DURABILITY_UNVERIFIED,
  }
}

function tracesOf(values: Values) {
  if (values.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return undefined
  return {
    url: values.OTEL_EXPORTER_OTLP_ENDPOINT,
    headers: values.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    service: values.OTEL_SERVICE_NAME,
    sample: values.TRACE_SAMPLE,
    perSecond: values.TRACE_PER_SECOND,
  }
}

function riskOf(values: Values) {
  if (values.RISK_URL === undefined) return undefined
  return {
    url: values.RISK_URL,
    // Only a server asks, and it does not start without one.
    secret: values.RISK_SECRET ?? '',
    rules: values.RISK_ALLOW_PRIVATE,
    timeoutMs: values.RISK_TIMEOUT_MS,
    cacheMs: values.RISK_CACHE_SECONDS * 1000,
    concurrency: values.RISK_CONCURRENCY,
    onFailure: values.RISK_ON_FAILURE,
  }
}

function kafkaOf(values: Values) {
  if (values.KAFKA_BROKERS === undefined) return undefined
  return {
    brokers: values.KAFKA_BROKERS,
    tls: values.KAFKA_TLS ? { ca: authorityIn(values.KAFKA_TLS_CA) } : undefined,
    sasl: values.KAFKA_SASL,
    /** With its dot. */
    topicPrefix: `${values.KAFKA_TOPIC_PREFIX}.`,
    partitions: values.KAFKA_PARTITIONS,
    replication: values.KAFKA_REPLICATION,
    minInsync: values.KAFKA_MIN_INSYNC,
  }
}

/** The text of the file: a wrong path stops the start, not the first connection. */
function authorityIn(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`KAFKA_TLS_CA: ${file} can't be read (${(error as NodeJS.ErrnoException).code ?? error})`)
  }
  if (!/-----BEGIN [A-Z ]*CERTIFICATE-----/.test(text))
    throw new ConfigError(`KAFKA_TLS_CA: there is no certificate (PEM) in ${file}`)
  return text
}

function shownOf(
  declared: Declared,
  values: Readonly<Record<string, unknown>>,
  texts: Texts,
  missing: string | undefined,
) {
  const shown: Record<string, unknown> = {}
  for (const [name, { applies, show = showPlain, built }] of declared) {
    if (built === false && values[name] === undefined) continue
    shown[name] = applies?.(texts) === false ? null : show(values[name])
  }
  if (missing !== undefined) shown.missing = missing
  return shown
}

function showPlain(value: unknown): string | number | null {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (Array.isArray(value)) return value.join(',') || null
  return value === undefined || value === '' ? null : (value as string | number)
}

/**
 * Where the commands that speak to a running server find it, and the operator's token they use. Lenient on purpose: settings that would stop
 * a server here do not matter to a command that asks a server elsewhere.
 */
export function readCliEnvironment(environment: Environment = process.env) {
  const given = (name: string) => environment[name] || undefined
  const host = given('HOST') ?? SETTINGS.HOST.default!
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const port = given('PORT') ?? SETTINGS.PORT.default
  const [first = ''] = (given('ADMIN_TOKENS') ?? '').split(',')
  return {
    server: given('STAMPEDE_SERVER') ?? `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`,
    token: given('STAMPEDE_TOKEN') ?? given('ADMIN_TOKEN') ?? (readOperator(first).token || undefined),
    dataDir: SETTINGS.DATA_DIR.schema.parse(given('DATA_DIR') ?? SETTINGS.DATA_DIR.default),
  }
}
