/**
 * The channel over Redis' publish and subscribe: one channel for all processes that share a database of a server. Redis keeps nothing of
 * it: what was said while nobody listened is gone, which is all that the contract promises. In order while the connection stands.
 *
 * Bounded: so many messages may be underway at once; what is said beyond that, or while Redis is away, is not said and is counted. What
 * is heard and not understood is dropped and counted; if it claims to be a reservation, it also counts as a gap, because filters rely
 * on having heard all of these.
 */

import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import type { Channel, ChannelMessage } from '../channel.ts'
import { ORDERS_PER_MESSAGE, readMessage } from './channel-message.ts'
import { messageChannel } from './keys.ts'

/** At 200 orders each this is more than a second of the fastest ledger. */
const UNDERWAY_MAX = 256

interface RedisChannelOptions {
  readonly connection: Pick<RedisConnection, 'command' | 'subscribe' | 'database'>
  readonly log: Log
  readonly meters: Meters
}

interface RedisChannel extends Channel {
  /** Resolves when it listens for the first time, or when the connection is closed. */
  readonly listening: Promise<void>
}

export function createRedisChannel({ connection, log, meters }: RedisChannelOptions): RedisChannel {
  const name = messageChannel(connection.database)
  const listeners: ((message: ChannelMessage) => void)[] = []
  const gapListeners: (() => void)[] = []
  let underway = 0
  let unreadable = 0

  function hear(text: string): void {
    const message = readMessage(text)
    if (message.kind !== 'unreadable') {
      tell(listeners, message)
      return
    }
    meters.count('messages_lost', 'unreadable')
    unreadable += 1
    if (unreadable === 1) log.warn({ characters: text.length }, 'a message on the channel is not one of ours: dropped')
    if (message.reservation) gap()
  }

  function gap(): void {
    meters.count('messages_lost', 'gap')
    tell(gapListeners, undefined)
  }

  async function publish(message: ChannelMessage): Promise<void> {
    if (underway >= UNDERWAY_MAX) return meters.count('messages_lost', 'unsaid')
    underway += 1
    try {
      await connection.command(['PUBLISH', name, JSON.stringify(message)])
    } catch (error) {
      meters.count('messages_lost', 'unsaid')
      if (!(error instanceof Fault)) log.error({ err: error }, 'a message could not be said')
    } finally {
      underway -= 1
    }
  }

  return {
    publish(message) {
      if (message.kind !== 'orders') {
        void publish(message)
        return
      }
      for (let from = 0; from < message.orders.length; from += ORDERS_PER_MESSAGE)
        void publish({ kind: 'orders', orders: message.orders.slice(from, from + ORDERS_PER_MESSAGE) })
    },
    listen: listener => void listeners.push(listener),
    onGap: listener => void gapListeners.push(listener),
    // What was said before it listened was missed too.
    listening: connection.subscribe(name, hear, gap).then(gap),
  }
}

/** A listener that throws is a bug: it ends the process, and not the connection's reading of what comes next. */
function tell<T>(listeners: readonly ((about: T) => void)[], about: T): void {
  for (const listener of listeners) {
    try {
      listener(about)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }
}
