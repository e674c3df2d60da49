/**
 * `stampede doctor --live`, of the settings alone: what must be set, and what must be off, before real buyers come. Payments have their own checks
 * (`live.ts`), what stands in front of the server too (`live-front.ts`).
 */

import { parseTicketKeys } from '../../admission/ticket.ts'
import type { Config } from '../../app/config/config.ts'
import { bad, type Finding, good, odd } from './finding.ts'

type ShopSettings = Pick<
  Config,
  | 'adminTokens'
  | 'alerts'
  | 'buyerJwt'
  | 'databaseUrl'
  | 'demo'
  | 'faultPoints'
  | 'host'
  | 'publicUrl'
  | 'rates'
  | 'redis'
  | 'signInUrl'
  | 'ticketKeys'
  | 'trustedProxies'
>

/** Shorter than this, a token or a secret is too easily found. */
const SECRET_LENGTH_MIN = 32
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

export function checkShop(settings: ShopSettings): readonly Finding[] {
  return [
    checkDemo(settings),
    checkSignIn(settings),
    checkTokens(settings),
    checkTicketKeys(settings),
    checkLimits(settings),
    checkProxy(settings),
    checkDurability(settings),
    checkAlerts(settings),
  ]
}

function checkDemo({ demo, faultPoints }: ShopSettings): Finding {
  if (faultPoints !== '') return bad('live: tests', 'FAULT_POINTS is set: this process fails on purpose', 'unset it')
  if (demo) return bad('live: demo', 'on: a start with nothing on sale puts made-up goods on sale', 'set DEMO=off')
  return good('live: demo', 'off')
}

function checkSignIn({ buyerJwt, signInUrl }: ShopSettings): Finding {
  const { secret, jwksUrl, audience, endless } = buyerJwt
  const what = 'live: sign-in'
  if (secret === undefined && jwksUrl === undefined)
    return bad(what, 'no buyer of the shop can sign in', 'set BUYER_JWT_SECRET or BUYER_JWKS_URL (docs/integrating.md)')
  if (secret !== undefined && secret.length < SECRET_LENGTH_MIN)
    return bad(
      what,
      `BUYER_JWT_SECRET has ${secret.length} characters: it can be guessed from one token`,
      'make one with: openssl rand -base64 32',
    )
  if (endless)
    return odd(what, 'BUYER_JWT_EXP=optional: tokens without an end are taken', 'give tokens an `exp`, and unset it')
  if (audience === undefined)
    return odd(
      what,
      'tokens for other programs of the shop are taken too',
      'set BUYER_JWT_AUDIENCE to what the `aud` of tokens for this server is',
    )
  return good(what, signInUrl === undefined ? 'by the shop’s tokens' : 'by the shop’s tokens, on the shop’s own page')
}

function checkTokens({ adminTokens }: ShopSettings): Finding {
  const what = 'live: operator tokens'
  const short = adminTokens.filter(({ token }) => token.length < SECRET_LENGTH_MIN).map(({ name }) => name)
  if (short.length > 0)
    return bad(
      what,
      `${short.join(', ')}: fewer than ${SECRET_LENGTH_MIN} characters`,
      'make each with: openssl rand -base64 32',
    )
  if (adminTokens.length <= 1)
    return odd(
      what,
      'one for everybody: the log can’t say who did what, and it may do everything',
      'give each operator a token and a role with ADMIN_TOKENS=name:role:token,…',
    )
  return good(what, adminTokens.map(({ name, role }) => `${name} (${role})`).join(', '))
}

function checkTicketKeys({ ticketKeys }: ShopSettings): Finding {
  const what = 'live: ticket keys'
  if (ticketKeys === undefined) return good(what, 'made by this server, in its data folder')
  const keys = parseTicketKeys(ticketKeys)
  const short = keys.filter(({ secret }) => (secret.symmetricKeySize ?? 0) < SECRET_LENGTH_MIN).map(({ id }) => id)
  return short.length === 0
    ? good(what, `${keys.length}`)
    : bad(
        what,
        `${short.join(', ')}: shorter than ${SECRET_LENGTH_MIN} bytes`,
        'put a new one in front, made with: openssl rand -hex 32',
      )
}

function checkLimits({ rates }: ShopSettings): Finding {
  const off = [
    ...(rates.perBuyer === undefined ? ['RATE_PER_BUYER'] : []),
    ...(rates.perAddress === undefined ? ['RATE_PER_ADDRESS'] : []),
  ]
  return off.length === 0
    ? good('live: limits', 'per buyer and per address')
    : bad(
        'live: limits',
        `${off.join(' and ')} off: one program can take the room of all buyers`,
        'unset it: the default fits people',
      )
}

/** The server speaks HTTP: TLS ends in front of it, and there every buyer would have the proxy's address. */
function checkProxy({ trustedProxies, publicUrl, host }: ShopSettings): Finding {
  const what = 'live: proxy'
  if (trustedProxies === '' && publicUrl?.startsWith('https:'))
    return bad(
      what,
      'TRUSTED_PROXIES is not set: all buyers count as one address, that of the proxy that ends TLS',
      'set it to the addresses of your proxies, as in 10.0.0.0/8',
    )
  if (trustedProxies === '')
    return bad(
      what,
      'nothing ends TLS in front of this server, as far as its settings say',
      'put nginx or HAProxy in front (deploy/), and set PUBLIC_URL and TRUSTED_PROXIES',
    )
  if (LOOPBACK.has(host)) return good(what, `${trustedProxies}; the server listens on ${host} only`)
  return odd(
    what,
    `${trustedProxies}; the server listens on ${host}, without TLS`,
    'see to it that only the proxies reach this port (a firewall, or a network of their own)',
  )
}

function checkDurability({ redis, databaseUrl }: ShopSettings): Finding {
  const what = 'live: durability'
  if (redis?.durability === 'memory')
    return bad(
      what,
      'REDIS_DURABILITY=memory: a crash of Redis loses reservations that buyers were told of',
      'set it to disk or replica (docs/durability.md)',
    )
  if (redis?.unverified)
    return odd(
      what,
      'REDIS_DURABILITY_UNVERIFIED=on: what Redis keeps was not checked',
      'ask the provider for the settings in docs/durability.md',
    )
  if (databaseUrl === undefined)
    return odd(
      what,
      'the ledger is on this machine’s disk alone',
      'back it up every day, or set DATABASE_URL to a PostgreSQL with a standby',
    )
  return good(
    what,
    redis === undefined ? 'PostgreSQL of your own' : `PostgreSQL of your own, Redis: ${redis.durability}`,
  )
}

function checkAlerts({ alerts }: ShopSettings): Finding {
  const set = [
    ...(alerts.mail === undefined ? [] : ['e-mail']),
    ...(alerts.slack === undefined ? [] : ['Slack']),
    ...(alerts.webhook === undefined ? [] : ['webhook']),
  ]
  return set.length > 0
    ? good('live: alerts', `${set.join(', ')}; "stampede alerts test" tries them`)
    : odd(
        'live: alerts',
        'nobody is told when something goes wrong',
        'set ALERT_EMAIL_TO, ALERT_SLACK_URL or ALERT_WEBHOOK_URL (docs/operating.md)',
      )
}
