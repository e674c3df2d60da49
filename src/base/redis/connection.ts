/**
 * Redis, as the gate, the outbox, the channel and others use it: scripts, single commands, subscriptions. Connects in the background and stays
 * at it; a call while it is away fails at once. What a failure means is in `faults.ts`: nothing was done, or nobody knows.
 *
 * Durability (E11): with `replica`, a script whose answer promises something goes out together with `WAIT`, on one connection; fewer
 * replicas than asked for means that the promise can't be given. Everything else has a connection of its own then, so that nobody's look
 * waits behind a replica.
 *
 * Does not know what scripts do, nor Sentinel or Cluster.
 */

import { assert } from '../assert.ts'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { isNoScript, shortWaitFault } from './faults.ts'
import { Link } from './link.ts'
import type { Script } from './script.ts'
import { Subscriptions } from './subscriptions.ts'

export interface RedisConnection {
  /** Runs a script by its digest; hands the text in on NOSCRIPT (nothing had happened). */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>
  /** The same, for what is told to somebody as done: with `replica` durability it is on the replicas, or the outcome is unknown (E11). */
  runDurably(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>
  /** @param key where it goes, if servers share the keys; without one, to any of them */
  command(args: readonly string[], key?: string): Promise<unknown>
  /** These keys (the first of each script call), as groups that one call may name together: one server has them all. */
  together(keys: readonly string[]): readonly (readonly string[])[]
  /**
   * One channel by name, on a connection of its own, restored after a reconnect. Resolves when it stands for the first time, or when
   * this is closed. `onGap` after every connect but the first: messages may have been missed.
   */
  subscribe(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<void>
  /** Of the URL. Channels are shared by all databases of a server, so their names carry it. */
  readonly database: number
  readonly durability: Durability
  connected(): boolean
  /** Ends everything; calls under way fail with an unknown outcome. */
  close(): Promise<void>
}

export type Durability = 'disk' | 'replica' | 'memory'

interface RedisOptions {
  readonly url: string
  readonly clock: Clock
  readonly log: Log
  /** How long a call may take, from the moment it is made. */
  readonly timeoutMs?: number
  readonly durability: Durability
  readonly replicas: number
}

const TIMEOUT_MS = 2_000

export function openRedis(options: RedisOptions): RedisConnection {
  const { url, clock, log, timeoutMs = TIMEOUT_MS, durability, replicas } = options
  const database = databaseOf(url)
  assert(durability !== 'replica' || replicas >= 1, 'durability "replica" without a replica')

  const main = new Link({ url, clock, log, timeoutMs, name: 'commands' })
  const beside = durability === 'replica' ? new Link({ url, clock, log, timeoutMs, name: 'the rest' }) : main
  const subscriptions = new Subscriptions({ url, clock, log, timeoutMs })
  // A replica that does not answer must be a short WAIT, not a silent server.
  const wait = ['WAIT', String(replicas), String(Math.ceil(timeoutMs / 2))]

  async function evaluate(
    link: Link,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    ...then: string[][]
  ) {
    const tail = [String(keys.length), ...keys, ...args]
    try {
      return await link.send(script.name, [['EVALSHA', script.digest, ...tail], ...then])
    } catch (error) {
      if (!isNoScript(error)) throw error
      return link.send(script.name, [['EVAL', script.text, ...tail], ...then])
    }
  }

  async function run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const [reply] = await evaluate(beside, script, keys, args.map(String))
    return reply
  }

  return {
    database,
    durability,
    run,
    async runDurably(script, keys, args) {
      if (durability !== 'replica') return run(script, keys, args)
      const [reply, reached] = await evaluate(main, script, keys, args.map(String), wait)
      // Not a number: the server took no WAIT, because it stopped being the primary right behind the script.
      if (!(Number(reached) >= replicas)) throw shortWaitFault(script.name, Number(reached) || 0, replicas)
      return reply
    },
    async command(args) {
      const [reply] = await beside.send(args[0] ?? '', [[...args]])
      return reply
    },
    together: keys => (keys.length === 0 ? [] : [keys]),
    subscribe: (channel, onMessage, onGap) => subscriptions.add(channel, onMessage, onGap),
    connected: () => main.isUp() && beside.isUp(),
    async close() {
      await Promise.all([main.close(), beside.close(), subscriptions.close()])
    },
  }
}

/** Without the address in any message: it may hold a password. */
function databaseOf(url: string): number {
  assert(URL.canParse(url), 'the Redis address is not a URL')
  const { protocol, pathname } = new URL(url)
  assert(protocol === 'redis:' || protocol === 'rediss:', `Redis is not spoken over ${protocol}`)
  const database = Number(pathname.slice(1))
  assert(Number.isSafeInteger(database) && database >= 0, `there is no Redis database "${pathname.slice(1)}"`)
  return database
}
