/**
 * What a Redis address says: one server (`redis://`, `rediss://`), a primary that sentinels name (`redis-sentinel://`), or the nodes of a
 * cluster (`redis-cluster://`). The last two list several hosts, which no URL allows, so each of them is read as a URL of its own.
 * No message ever holds a part of the address: it may be part of a password.
 */

export interface HostPort {
  readonly host: string
  readonly port: number
}

/** One server: where it is, and who we are there. */
export interface Address extends HostPort {
  readonly tls: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  readonly database: number
}

export type RedisTarget =
  | { readonly kind: 'single'; readonly server: Address }
  /** `server` is the primary but for host and port, which the sentinels know. */
  | {
      readonly kind: 'sentinel'
      readonly name: string
      readonly sentinels: readonly Address[]
      readonly server: Address
    }
  | { readonly kind: 'cluster'; readonly seeds: readonly Address[] }

const PORT = 6379
const SENTINEL_PORT = 26_379
const HOSTS_MAX = 100
const FORMS =
  'redis://host:6379/0, rediss://host:6379/0, redis-sentinel://host:26379,host:26379/name or redis-cluster://host:6379,host:6379'

/** Throws an Error whose message is for a person, to be put after the name of the setting. */
export function parseRedisUrl(text: string): RedisTarget {
  const [, kind, rest] = /^redis-(sentinel|cluster):\/\/(.*)$/s.exec(text) ?? []
  if (kind === undefined || rest === undefined) return { kind: 'single', server: serverOf(text, PORT) }

  const [, credentials = '', list = '', path = '', search = ''] =
    /^(?:(.*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/s.exec(rest) ?? []
  const hosts = list.split(',').map(host => host.trim())
  if (hosts.length > HOSTS_MAX || hosts.some(host => host === '')) throw wrong()
  const at = (who: string, port: number) => hosts.map(host => serverOf(`redis://${who}${host}`, port))
  const query = new URLSearchParams(search)

  if (kind === 'cluster') {
    if (path !== '' && path !== '0') throw new Error('a Redis Cluster has database 0 and no other')
    refuseOthers(query, [])
    return { kind: 'cluster', seeds: at(credentials === '' ? '' : `${credentials}@`, PORT) }
  }
  if (!/^[\w.-]+$/.test(path))
    throw new Error('must end with the name the sentinels have for the primary: …:26379/name')
  refuseOthers(query, ['sentinelUser', 'sentinelPassword'])
  const user = encodeURIComponent(query.get('sentinelUser') ?? '')
  const password = encodeURIComponent(query.get('sentinelPassword') ?? '')
  return {
    kind: 'sentinel',
    name: path,
    sentinels: at(password === '' ? '' : `${user}:${password}@`, SENTINEL_PORT),
    server: serverOf(`redis://${credentials === '' ? '' : `${credentials}@`}primary`, PORT),
  }
}

/** For people and as a key: without a user, without a password. */
export function nameOf({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Of such a name. */
export function hostOf(name: string): string {
  return name.slice(0, name.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1')
}

function serverOf(text: string, portByDefault: number): Address {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'redis:' && url.protocol !== 'rediss:')) throw wrong()
  const database = Number(url.pathname.slice(1))
  if (!Number.isSafeInteger(database) || database < 0)
    throw new Error('must end with the number of a database, like /0')
  if (url.hostname === '') throw wrong()
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? portByDefault : Number(url.port),
    tls: url.protocol === 'rediss:',
    username: decoded(url.username),
    password: decoded(url.password),
    database,
  }
}

function decoded(text: string): string | undefined {
  try {
    return text === '' ? undefined : decodeURIComponent(text)
  } catch {
    throw new Error('user and password must be percent-encoded: % is written %25')
  }
}

function refuseOthers(query: URLSearchParams, known: readonly string[]): void {
  if ([...query.keys()].every(name => known.includes(name))) return
  throw new Error(`takes ${known.length === 0 ? 'nothing' : `only ${known.join(' and ')}`} behind the question mark`)
}

function wrong(): Error {
  return new Error(`must be an address like ${FORMS}`)
}
