/**
 * Every setting, each declared once: its values, default and sentence, what it must go together with, and how it is printed.
 * Read by `config.ts` and by docs/reference/configuration.md. The order is that of the page and of `stampede config`.
 */

import { resolve } from 'node:path'
import { z } from 'zod'
import { createClientAddress } from '../../admission/client-address.ts'
import { operatorProblem, readOperator, TOKEN_LENGTH_MAX } from '../../admission/operator.ts'
import { parseTicketKeys } from '../../admission/ticket.ts'
import { TICKET_BINDINGS } from '../../admission/ticket-binding.ts'
import { parseFaultPoints } from '../../base/fault-points.ts'
import { parseRedisUrl } from '../../base/redis/redis-url.ts'
import { ALERT_SETTINGS } from './alert-settings.ts'
import { CHALLENGE_SETTINGS } from './challenge-settings.ts'
import { DRAW_SETTINGS } from './draw-settings.ts'
import { EVENT_SETTINGS } from './event-settings.ts'
import { HOLD_SETTINGS } from './hold-settings.ts'
import { KAFKA_SETTINGS } from './kafka-settings.ts'
import { PAGES_SETTINGS } from './pages-settings.ts'
import { PAYMENT_SETTINGS, paymentProviders } from './payment/payment-settings.ts'
import { RATE_SETTINGS } from './rate-settings.ts'
import { RISK_SETTINGS } from './risk-settings.ts'
import {
  checkedBy,
  DAY_MS,
  days,
  HIDDEN,
  hide,
  hideInAddress,
  list,
  notBuilt,
  onOff,
  parsedBy,
  secret,
  setting,
  type Texts,
  webAddress,
  whole,
} from './setting.ts'
import { TRACE_SETTINGS } from './trace-settings.ts'

/** What a process of a cluster can do. */
const ROLES = ['edge', 'worker', 'keeper'] as const
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

const embedded = (texts: Texts) => texts.DATABASE_URL === undefined
const hasRedis = (texts: Texts) => texts.REDIS_URL !== undefined
const hasBuyerKey = (texts: Texts) => texts.BUYER_JWT_SECRET !== undefined || texts.BUYER_JWKS_URL !== undefined
/** Only its owner can reach it, and no shop sells with it: embedded, on loopback, without a key of the shop. */
export const atHome = (texts: Texts) => embedded(texts) && LOOPBACK.has(texts.HOST ?? '') && !hasBuyerKey(texts)
const needsRedis = (name: string) => `${name} needs REDIS_URL: without it the gate is in the process`

export const SETTINGS = {
  HOST: setting({ about: 'The address to listen on.', schema: z.string(), default: '127.0.0.1' }),
  PORT: setting({ about: '0 picks a free one and prints it.', schema: whole(0, 65_535), default: '8080' }),
  PUBLIC_URL: setting({
    about: 'How the world reaches this server: pay links, callbacks, Secure cookies and HSTS when it is https.',
    schema: webAddress
      .refine(text => !/[?#]/.test(text), 'must end with the host or a path: no ? and no #')
      .transform(text => text.replace(/\/+$/, '')),
  }),
  CORS_ORIGINS: setting({
    about:
      'Origins whose pages may call the API and use the session cookie, separated by commas, exactly as browsers send them.',
    schema: list.refine(
      origins => origins.every(origin => /^https?:/.test(origin) && URL.parse(origin)?.origin === origin),
      'must be origins like https://shop.example, separated by commas: no path, no *',
    ),
  }),
  DATA_DIR: setting({
    about: 'Where the embedded PostgreSQL and the secrets made at the first start live.',
    schema: z.string().transform(folder => resolve(folder)),
    default: './data',
  }),
  DATABASE_URL: setting({
    about: 'Your PostgreSQL. Without it an embedded one is started.',
    schema: z
      .string()
      .regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://')
      // An address may name a user and no host: the host is in `?host=`, or the default one.
      .refine(
        text => URL.canParse(text) || URL.canParse(text.replace('@/', '@host/')),
        'is no address: write postgres://user:password@host:5432/database, and special characters of the password percent-encoded (# is %23)',
      ),
    show: hideInAddress,
  }),
  REDIS_URL: setting({
    about:
      'Your Redis: makes this process one of a cluster. redis://, rediss://, redis-sentinel://h:p,h:p/name or redis-cluster://h:p,h:p. Needs DATABASE_URL, ADMIN_TOKEN and TICKET_KEYS.',
    schema: checkedBy(parseRedisUrl),
    // Commands stop as well: they would open an embedded ledger instead of the cluster's.
    conflict: texts => (texts.DATABASE_URL === undefined ? missingInCluster(texts) : undefined),
    missing: texts => (hasRedis(texts) ? missingInCluster(texts) : undefined),
    show: hideInAddress,
  }),
  REDIS_DURABILITY: setting({
    about:
      'What an acknowledged reservation survives; checked at the start. Sentinel and Cluster need replica. See docs/durability.md.',
    schema: z.enum(['disk', 'replica', 'memory'], 'must be disk, replica or memory'),
    default: 'disk',
    conflict: (texts, durability) => {
      if (durability !== 'disk') return hasRedis(texts) ? undefined : needsRedis('REDIS_DURABILITY')
      const kind = texts.REDIS_URL === undefined ? 'single' : parseRedisUrl(texts.REDIS_URL).kind
      if (kind === 'single') return undefined
      return `REDIS_DURABILITY=disk can't be kept with redis-${kind}://: a failover goes to a replica, and what only the disk of the first server has is lost with it. Set REDIS_DURABILITY=replica (and REDIS_REPLICAS), and min-replicas-to-write on every server`
    },
    applies: hasRedis,
  }),
  REDIS_DURABILITY_UNVERIFIED: setting({
    about: 'on: start although Redis does not let its settings be read (CONFIG is forbidden at some providers).',
    schema: onOff,
    unset: () => 'off',
    conflict: (texts, unverified) =>
      unverified && !hasRedis(texts) ? needsRedis('REDIS_DURABILITY_UNVERIFIED') : undefined,
    applies: hasRedis,
  }),
  REDIS_REPLICAS: setting({
    about: 'With REDIS_DURABILITY=replica: how many replicas must have it before a buyer is told (1).',
    schema: whole(1, 8),
    unset: texts => (texts.REDIS_DURABILITY === 'replica' ? '1' : undefined),
    conflict: texts => {
      if (!hasRedis(texts)) return needsRedis('REDIS_REPLICAS')
      if (texts.REDIS_DURABILITY === 'replica') return undefined
      return 'REDIS_REPLICAS only means something with REDIS_DURABILITY=replica'
    },
  }),
  ROLES: setting({
    about:
      'What this process of a cluster does: edge (HTTP), worker (places orders), keeper (sweeps, rebuilds, reconciles).',
    schema: list
      .refine(
        roles => roles.every(role => role === 'all' || (ROLES as readonly string[]).includes(role)),
        `must be all, or some of ${ROLES.join(', ')}, separated by commas`,
      )
      .transform(roles => ROLES.filter(role => roles.includes('all') || roles.includes(role))),
    default: 'all',
    conflict: (texts, roles) =>
      hasRedis(texts) || roles.length === ROLES.length
        ? undefined
        : 'ROLES needs REDIS_URL: without it one process does everything',
    show: roles => (roles?.length === ROLES.length ? 'all' : (roles ?? []).join(',')),
  }),
  ...KAFKA_SETTINGS,
  ETCD_HOSTS: notBuilt('ETCD_HOSTS'),
  THREADS: setting({
    about:
      'Retired: has no effect. A process uses one core; several edges around one Redis use more, also on one machine (docs/choosing.md).',
    schema: z.string(),
  }),
  FENCE_MS: setting({
    about: 'How long an edge may rely on what it last read from the ledger.',
    schema: whole(100, 600_000),
    default: '5000',
  }),
  PLACED_WAIT_MS: setting({
    about: 'How long an order waits to be placed before it is answered 202. Never when embedded.',
    schema: whole(0, 60_000),
    default: '300',
  }),
  ADMIN_TOKEN: setting({
    about:
      "The operator's token, at least 16 characters. Embedded and unset: one is made, kept in the data folder, and its path printed.",
    schema: secret.max(TOKEN_LENGTH_MAX, `must have at most ${TOKEN_LENGTH_MAX} characters`),
    show: hide,
  }),
  ADMIN_TOKENS: setting({
    about:
      'Several operators: name:role:token,name:role:token. The role is viewer (reads), operator (runs sales, orders and refunds) or admin (everything); name:token is an admin. Each token at least 16 characters; no two names or tokens the same. The name (letters, digits, ., @, -, _) goes into the log.',
    schema: parsedBy(parseOperators),
    conflict: (texts, operators) => {
      const { ADMIN_TOKEN } = texts
      if (ADMIN_TOKEN === undefined) return undefined
      const same = operators.find(({ token }) => token === ADMIN_TOKEN)
      if (same !== undefined) return `ADMIN_TOKENS: entry ${same.entry} has the same token as ADMIN_TOKEN`
      const named = operators.find(({ name }) => name === 'admin')
      return (
        named && `ADMIN_TOKENS: entry ${named.entry} is named admin, as is ADMIN_TOKEN: rename it, or unset ADMIN_TOKEN`
      )
    },
    show: operators => operators?.map(showOperator).join(',') ?? null,
  }),
  TICKET_KEYS: setting({
    about:
      'What tickets are signed with: id:secret,id:secret, newest first; each secret at least 16 bytes, each id 1 to 16 letters, digits, - or _. Embedded and unset: one is made and kept.',
    schema: checkedBy(parseTicketKeys),
    show: hide,
  }),
  TICKET_BINDING: setting({
    about:
      'What else a ticket is bound to: off; sign-in (the order must show the session or token that fetched it: the cookie, or the header stampede-sign-in); prefix (the /24 or /48 it was fetched from). Changing it makes the tickets that are out worthless.',
    schema: z.enum(TICKET_BINDINGS, `must be ${TICKET_BINDINGS.join(', ')}`),
    default: 'off',
  }),
  BUYER_JWT_SECRET: setting({
    about: 'The secret the shop signs buyer tokens with (HS256), at least 16 characters.',
    schema: secret,
    show: hide,
  }),
  BUYER_JWKS_URL: setting({
    about:
      'Where the shop publishes the keys it signs buyer tokens with (RS256, ES256, EdDSA). May be set together with the secret.',
    schema: webAddress,
    show: hideInAddress,
  }),
  BUYER_JWT_ISSUER: setting({ about: 'What `iss` of buyer tokens must be.', schema: z.string() }),
  BUYER_JWT_AUDIENCE: setting({ about: 'What `aud` of buyer tokens must hold.', schema: z.string() }),
  BUYER_JWT_EXP: setting({
    about:
      'required: a buyer token without `exp` is refused. optional: it is accepted, and never ends. A token that ends is safer: none can be revoked.',
    schema: z.enum(['required', 'optional'], 'must be required or optional'),
    default: 'required',
  }),
  GUEST_SIGN_IN: setting({
    about:
      'Lets anybody buy under any name; with a key of the shop, under a name that none of its buyers can have. Unset: on only when embedded, on loopback and without a key of the shop.',
    schema: onOff,
    unset: texts => (atHome(texts) ? 'on' : 'off'),
    missing: texts =>
      texts.GUEST_SIGN_IN === 'on' || hasBuyerKey(texts)
        ? undefined
        : 'no buyer could sign in: set BUYER_JWT_SECRET to the secret your shop signs buyer tokens with, BUYER_JWKS_URL to where it publishes its keys, or GUEST_SIGN_IN=on',
  }),
  SIGN_IN_URL: setting({
    about:
      "Where buyers sign in at the shop, with {return} where the address to come back to belongs: https://shop.example/sign-in?back={return}. The page's button leads there (docs/integrating.md).",
    schema: webAddress.refine(
      text => text.split('{return}').length === 2 && !new URL(text).host.includes('%7B'),
      'must contain {return} once, behind the host, where the address to come back to belongs',
    ),
  }),
  PAYMENT_PROVIDERS: setting({
    about:
      'Names, separated by commas; the first is the default. Several accounts of a provider: its name, a dot and an account of lower-case letters and digits, as in stripe.eu, whose settings have the account in their names (STRIPE_EU_SECRET_KEY). In the sandbox a buyer approves his own payment. Unset: the sandbox when embedded, on loopback and without a key of the shop; none otherwise.',
    schema: paymentProviders,
    unset: texts => (atHome(texts) ? 'sandbox' : undefined),
  }),
  ...PAYMENT_SETTINGS,
  TRUSTED_PROXIES: setting({
    about: 'Addresses and networks whose X-Forwarded-For is believed, separated by commas.',
    schema: checkedBy(createClientAddress),
    default: '',
  }),
  ...RATE_SETTINGS,
  ...RISK_SETTINGS,
  ...TRACE_SETTINGS,
  ...HOLD_SETTINGS,
  ...CHALLENGE_SETTINGS,
  ...PAGES_SETTINGS,
  ...DRAW_SETTINGS,
  DEMO: setting({
    about:
      'Creates a sale to try, if nothing is on sale. Unset: on only when embedded, on loopback and without a key of the shop.',
    schema: onOff,
    unset: texts => (atHome(texts) ? 'on' : 'off'),
  }),
  WARM_CODE: setting({
    about:
      'Before a sale opens, this process tries its code on made-up orders that are rolled back, so that the first orders are not the slowest. It rests while anything is sold. Off: also the pages and the description of the API are made at their first request, and not at the start.',
    schema: onOff,
    default: 'on',
  }),
  LOG_LEVEL: setting({
    about: 'How much is logged.',
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    default: 'info',
  }),
  LOG_BUYERS: setting({
    about:
      'How buyer ids, and addresses of those who sign in as operators, stand in the log: as they are, or as a keyed hash, the same in all processes with the same TICKET_KEYS. Nothing else in the log is personal.',
    schema: z.enum(['plain', 'hashed']),
    default: 'plain',
  }),
  METRICS_PORT: setting({
    about: 'Metrics on a port of their own, without a token, on METRICS_HOST. Not the same as PORT.',
    schema: whole(1, 65_535),
    conflict: ({ PORT }, port) =>
      port === Number(PORT) ? `METRICS_PORT: must differ from PORT, which is ${port}` : undefined,
  }),
  METRICS_HOST: setting({
    about:
      'The address to listen on for METRICS_PORT. Everybody who reaches it reads the metrics: 0.0.0.0 only behind a firewall or in a network of your own.',
    schema: z.string(),
    default: '127.0.0.1',
    applies: texts => texts.METRICS_PORT !== undefined,
  }),
  DRAIN_SECONDS: setting({
    about:
      'How long a stop may take: what is in flight is answered, what is held given back. Only an embedded PostgreSQL may need longer.',
    schema: whole(1, 600),
    default: '10',
  }),
  ARCHIVE_AFTER: setting({
    about:
      'How long after its final report the orders of a sale move into the archive tables, in days (30d), or off. See docs/operating.md.',
    schema: days,
    default: '30d',
    show: value => (value === undefined ? 'off' : `${value / DAY_MS}d`),
  }),
  ...EVENT_SETTINGS,
  ...ALERT_SETTINGS,
  FAULT_POINTS: setting({
    about: 'For tests: where to fail on purpose.',
    schema: checkedBy(parseFaultPoints),
  }),
}

interface NamedOperator extends ReturnType<typeof readOperator> {
  /** Counted from 1, as in an error's line. */
  readonly entry: number
}

function parseOperators(text: string): readonly NamedOperator[] {
  const operators: NamedOperator[] = []
  for (const [index, part] of text.split(',').entries()) {
    if (part.trim() === '') continue
    const entry = index + 1
    const operator = { ...readOperator(part), entry }
    if (!part.includes(':') || operator.token.length < 16)
      throw new Error(`entry ${entry} is not name:token or name:role:token with a token of at least 16 characters`)
    const problem = operatorProblem(operator)
    if (problem !== undefined) throw new Error(`entry ${entry}: ${problem}`)
    const same = operators.find(({ token }) => token === operator.token)
    if (same !== undefined) throw new Error(`entry ${entry} has the same token as entry ${same.entry}`)
    const namesake = operators.find(({ name }) => name === operator.name)
    if (namesake !== undefined) throw new Error(`entry ${entry} has the same name as entry ${namesake.entry}`)
    operators.push(operator)
  }
  if (operators.length === 0) throw new Error('names no operator, must be name:role:token')
  return operators
}

function showOperator({ name, role }: NamedOperator): string {
  return role === 'admin' ? `${name}:${HIDDEN}` : `${name}:${role}:${HIDDEN}`
}

function missingInCluster(texts: Texts): string | undefined {
  const missing = [
    texts.DATABASE_URL === undefined && 'DATABASE_URL (the processes of a cluster share one ledger)',
    texts.ADMIN_TOKEN === undefined && texts.ADMIN_TOKENS === undefined && 'ADMIN_TOKEN (or ADMIN_TOKENS)',
    texts.TICKET_KEYS === undefined && 'TICKET_KEYS (a ticket of one edge must be good at every other)',
  ].filter(text => text !== false)
  return missing.length === 0 ? undefined : `REDIS_URL makes this a cluster, which also needs ${missing.join(' and ')}`
}
