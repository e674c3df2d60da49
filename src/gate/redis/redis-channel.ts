/**
 * The channel over Redis' publish and subscribe: one channel for all processes that share a database of a server. Redis keeps no message
 * for a process that is not connected. In order while the connection lasts. Orders that this process publishes reach its own listeners at once;
 * the copy that comes back is known by its sender's name and is not read.
 *
 * Bounded: a message beyond so many under way, or while Redis is away, is not published, and counted. A message that can't be read is
 * dropped and counted; if it claims to be a reservation it also counts as a gap, because buyer filters rely on all of these.
 */

import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import type { Order } from '../../domain/order.ts'
import type { Channel, ChannelMessage } from '../channel.ts'
import { ORDERS_PER_MESSAGE, readMessage } from './channel-message.ts'
import { messageChannel } from './keys.ts'

/** At 200 orders each this is more than a second of the fastest ledger. */
const UNDERWAY_MAX = 256

/** @returns `listening` resolves when it listens for the first time, or when the connection is closed. */
export function createRedisChannel(
  connection: Pick<RedisConnection, 'command' | 'subscribe' | 'database'>,
  log: Log,
  meters: Meters,
  /** A name that no other process has. */
  sender: string,
): Channel & { readonly listening: Promise<void> } {
  const name = messageChannel(connection.database)
  const own = `{"kind":"orders","from":${JSON.stringify(sender)},`
  const listeners: ((message: ChannelMessage) => void)[] = []
  const gapListeners: (() => void)[] = []
  let underway = 0
  let unreadable = 0
  /** Orders that were published in this turn: one message for all of them. */
  let bundle: Order[] = []

  function hear(text: string): void {
    if (text.startsWith(own)) return
    const message = readMessage(text)
    if (message.kind !== 'unreadable') {
      callAll(listeners, message)
      return
    }
    meters.count('messages_lost', 'unreadable')
    unreadable += 1
    if (unreadable === 1) log.warn({ characters: text.length }, 'message on the channel not readable: dropped')
    if (message.reservation) gap()
  }

  function gap(): void {
    meters.count('messages_lost', 'gap')
    callAll(gapListeners, undefined)
  }

  function sendBundle(): void {
    const orders = bundle
    bundle = []
    for (let i = 0; i < orders.length; i += ORDERS_PER_MESSAGE)
      void send({ kind: 'orders', from: sender, orders: orders.slice(i, i + ORDERS_PER_MESSAGE) })
  }

  async function send(message: object): Promise<void> {
    if (underway >= UNDERWAY_MAX) return meters.count('messages_lost', 'unsaid')
    underway += 1
    try {
      await connection.command(['PUBLISH', name, JSON.stringify(message)])
    } catch (error) {
      meters.count('messages_lost', 'unsaid')
      if (!(error instanceof Fault)) log.error({ err: error }, 'message not published')
    } finally {
      underway -= 1
    }
  }

  return {
    publish(message) {
      if (message.kind !== 'orders') {
        // What was published before it goes before it.
        sendBundle()
        void send(message)
        return
      }
      if (bundle.length === 0) queueMicrotask(sendBundle)
      bundle.push(...message.orders)
      callAll(listeners, message)
    },
    // As `reserve.lua` writes it, so that older workers understand it; its figures are older than all others and change nothing.
    wake: (partition, epoch) =>
      void send({ kind: 'reserved', item: partition, epoch, version: 0, left: 0, buyers: [] }),
    listen: listener => void listeners.push(listener),
    onGap: listener => void gapListeners.push(listener),
    // Messages from before the subscription were missed too.
    listening: connection.subscribe(name, hear, gap).then(gap),
  }
}

/** A listener that throws is a bug: it ends the process, not the reading of further messages. */
function callAll<T>(listeners: readonly ((about: T) => void)[], about: T): void {
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
