/** A connection to Redis, of the kind its address says: one server, a primary that sentinels name (`sentinels.ts`), a cluster (`cluster.ts`). */

import { assert } from '../assert.ts'
import { Cluster } from './cluster.ts'
import type { LinkOptions } from './link.ts'
import type { RedisConnection } from './redis-connection.ts'
import { parseRedisUrl } from './redis-url.ts'
import { openSentinels } from './sentinels.ts'
import { Server, type ServerOptions } from './server.ts'
import { Subscriptions } from './subscriptions.ts'

export type { Durability, Primary, RedisConnection } from './redis-connection.ts'

interface RedisOptions extends Omit<ServerOptions, 'timeoutMs'> {
  readonly url: string
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 2_000

export function openRedis(options: RedisOptions): RedisConnection {
  const common = { timeoutMs: TIMEOUT_MS, ...options }
  assert(options.durability !== 'replica' || options.replicas >= 1, 'durability "replica" without a replica')
  const target = parseRedisUrl(options.url)
  switch (target.kind) {
    case 'single':
      return openOne(common, target.server.database, () => target.server)
    case 'sentinel': {
      const sentinels = openSentinels(target, common)
      const address = async () => ({ ...target.server, ...(await sentinels.primary()) })
      const one = openOne(common, target.server.database, address, mustBePrimary)
      sentinels.follow(one.moveTo)
      return { ...one, close: async () => void (await Promise.all([sentinels.close(), one.close()])) }
    }
    case 'cluster':
      return new Cluster(target.seeds, common)
  }
}

/** One server at a time, wherever it is. */
function openOne(
  options: ServerOptions,
  database: number,
  address: LinkOptions['address'],
  onUp?: LinkOptions['onUp'],
): RedisConnection & Pick<Server, 'moveTo'> {
  const server = new Server(options, address, onUp)
  const subscriptions = new Subscriptions({ ...options, address, onUp })
  return {
    database,
    durability: options.durability,
    run: (script, keys, args) => server.run(script, keys, args),
    runDurably: (script, keys, args) => server.runDurably(script, keys, args),
    command: args => server.command(args),
    oneServer: true,
    together: keys => (keys.length === 0 ? [] : [keys]),
    serverOf: () => server.name,
    primaries: () => [server],
    subscribe: (channel, onMessage, onGap) => subscriptions.add(channel, onMessage, onGap),
    connected: () => server.isUp(),
    moveTo(where) {
      server.moveTo(where)
      subscriptions.moveTo([where])
    },
    close: async () => void (await Promise.all([server.close(), subscriptions.close()])),
  }
}

/** Sentinels may be behind: what they name is a primary only if it says so itself. */
const mustBePrimary: LinkOptions['onUp'] = async client => {
  const role: unknown = await client.sendCommand(['ROLE'])
  if (!Array.isArray(role) || String(role[0]) !== 'master')
    throw new Error('the sentinels name a server that is no primary')
}
