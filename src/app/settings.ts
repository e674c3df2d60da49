/** Every setting there is, with what it may be and what it is for. Read by `config.ts`, and by the page that explains them. */

import { z } from 'zod'
import { createClientAddress } from '../admission/client-address.ts'
import { TOKEN_LENGTH_MAX } from '../admission/operator.ts'
import { parseRate } from '../admission/rate-limit-policy.ts'
import { parseTicketKeys } from '../admission/ticket.ts'
import { parseRedisUrl } from '../base/redis/redis-url.ts'

const onOff = z.enum(['on', 'off'], 'must be "on" or "off"').transform(value => value === 'on')
const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^[0-9]{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine(value => value >= min && value <= max, `must lie between ${min} and ${max}`)
/** What a process of a cluster can do. */
export const ROLES = ['edge', 'worker', 'keeper'] as const

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
/** Exactly as a browser sends them: scheme, host and port if it is not the usual one, nothing after. */
const origins = z
  .string()
  .transform(text => text.split(',').map(origin => origin.trim()))
  .refine(
    list => list.every(origin => /^https?:/.test(origin) && URL.parse(origin)?.origin === origin),
    'must be origins like https://shop.example, separated by commas: no path, no *',
  )
const rate = (byDefault: string) => z.string().default(byDefault).superRefine(tried(parseRate)).transform(parseRate)

/** Settings of parts that are not built yet, and the values that need no part. */
export const NOT_BUILT: Readonly<Record<string, readonly string[]>> = {
  KAFKA_BROKERS: [],
  ETCD_HOSTS: [],
  THREADS: ['1'],
}

export const settings = z.object({
  HOST: z.string().default('127.0.0.1').describe('The address to listen on.'),
  PORT: whole(0, 65_535).prefault('8080').describe('0 picks a free one and prints it.'),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
    .refine(text => !/[?#]/.test(text), 'must end with the host or a path: no ? and no #')
    .optional()
    .describe('How the world reaches this server: pay links, callbacks, Secure cookies and HSTS when it is https.'),
  CORS_ORIGINS: origins
    .default([])
    .describe(
      'Origins whose pages may call the API and use the session cookie, separated by commas, exactly as browsers send them.',
    ),
  DATA_DIR: z
    .string()
    .default('./data')
    .describe('Where the embedded PostgreSQL and the secrets made at the first start live.'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://')
    // Where a name stands without a host, the host is in `?host=`, or the usual one.
    .refine(
      text => URL.canParse(text) || URL.canParse(text.replace('@/', '@host/')),
      'is no address: write postgres://user:password@host:5432/database, and special characters of the password percent-encoded (# is %23)',
    )
    .optional()
    .describe('Your PostgreSQL. Without it an embedded one is started.'),
  REDIS_URL: z
    .string()
    .superRefine(tried(parseRedisUrl))
    .optional()
    .describe(
      'Your Redis: makes this process one of a cluster. redis://, rediss://, redis-sentinel://h:p,h:p/name or redis-cluster://h:p,h:p. Needs DATABASE_URL, ADMIN_TOKEN and TICKET_KEYS.',
    ),
  REDIS_DURABILITY: z
    .enum(['disk', 'replica', 'memory'], 'must be disk, replica or memory')
    .default('disk')
    .describe(
      'What an acknowledged reservation survives; checked at the start. Sentinel and Cluster need replica. See docs/durability.md.',
    ),
  REDIS_DURABILITY_UNVERIFIED: onOff
    .default(false)
    .describe('on: start although Redis does not let its settings be read (CONFIG is forbidden at some providers).'),
  REDIS_REPLICAS: whole(1, 8)
    .optional()
    .describe('With REDIS_DURABILITY=replica: how many replicas must have it before a buyer is told (1).'),
  ROLES: z
    .string()
    .default('all')
    .transform(text => text.split(',').map(role => role.trim()))
    .refine(
      roles => roles.every(role => role === 'all' || (ROLES as readonly string[]).includes(role)),
      `must be all, or some of ${ROLES.join(', ')}, separated by commas`,
    )
    .transform(roles => ROLES.filter(role => roles.includes('all') || roles.includes(role)))
    .describe(
      'What this process of a cluster does: edge (HTTP), worker (places orders), keeper (sweeps, rebuilds, reconciles).',
    ),
  FENCE_MS: whole(100, 600_000)
    .prefault('5000')
    .describe('How long an edge may rely on what it last read from the ledger.'),
  PLACED_WAIT_MS: whole(0, 60_000)
    .prefault('300')
    .describe('How long an order waits to be placed before it is answered 202. Never when embedded.'),
  ADMIN_TOKEN: secret
    .max(TOKEN_LENGTH_MAX, `must have at most ${TOKEN_LENGTH_MAX} characters`)
    .optional()
    .describe(
      "The operator's token, at least 16 characters. Embedded and unset: one is made, kept in the data folder, and its place printed.",
    ),
  ADMIN_TOKENS: z
    .string()
    .optional()
    .describe(
      'Several operators: name:token,name:token, each token at least 16 characters and no two the same. The name (letters, digits, ., @, -, _) goes into the log.',
    ),
  TICKET_KEYS: z
    .string()
    .superRefine(tried(parseTicketKeys))
    .optional()
    .describe(
      'What tickets are signed with: id:secret,id:secret, newest first; each secret at least 16 bytes, each id 1 to 16 letters, digits, - or _. Embedded and unset: one is made and kept.',
    ),
  BUYER_JWT_SECRET: secret
    .optional()
    .describe('The secret the shop signs buyer tokens with (HS256), at least 16 characters.'),
  BUYER_JWKS_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
    .optional()
    .describe(
      'Where the shop publishes the keys it signs buyer tokens with (RS256, ES256, EdDSA). May stand beside the secret.',
    ),
  BUYER_JWT_ISSUER: z.string().optional().describe('What `iss` of buyer tokens must be.'),
  BUYER_JWT_AUDIENCE: z.string().optional().describe('What `aud` of buyer tokens must hold.'),
  GUEST_SIGN_IN: onOff
    .optional()
    .describe(
      'Lets anybody buy under any name. Unset: on only when embedded, on loopback and without a key of the shop.',
    ),
  PAYMENT_PROVIDERS: z
    .string()
    .transform(text => text.split(',').map(name => name.trim()))
    .refine(names => names.every(name => name === 'sandbox'), 'only "sandbox" is built yet')
    .optional()
    .describe(
      'Names, separated by commas; the first is the default. Unset: the sandbox when embedded, none otherwise.',
    ),
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .superRefine(tried(createClientAddress))
    .describe('Addresses and networks whose X-Forwarded-For is believed, separated by commas.'),
  RATE_PER_ADDRESS: rate('100/1s').describe(
    'Requests per address: count/window in any window, or off. `100/1s burst 20` is a bucket instead: 20 at once, 100 a second flow back.',
  ),
  RATE_PER_BUYER: rate('5/1s').describe('Requests per buyer.'),
  RATE_PER_ITEM: rate('off').describe('Requests per item.'),
  RATE_TOTAL: rate('off').describe('Requests in all.'),
  RATE_SCOPE: z
    .enum(['edge', 'cluster'], 'must be edge or cluster')
    .optional()
    .describe(
      'cluster: limits hold over all edges together, counted in Redis. edge: each edge counts for itself. Unset: cluster with REDIS_URL.',
    ),
  RATE_EDGES: whole(1, 1024)
    .prefault('4')
    .describe('Among how many edges limits are divided at the start, as long as Redis has not been reached.'),
  DEMO: onOff.optional().describe('Creates a sale to try. Unset: on when embedded and nothing is on sale.'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('How much is logged.'),
  METRICS_PORT: whole(1, 65_535)
    .optional()
    .describe('Metrics on a port of their own, without a token. Not the same as PORT.'),
  DRAIN_SECONDS: whole(1, 600)
    .prefault('10')
    .describe(
      'How long a stop may take: what is in flight is answered, what is held given back. Only an embedded PostgreSQL may need longer.',
    ),
  FAULT_POINTS: z.string().default('').describe('For tests: where to fail on purpose.'),
})
