/**
 * The channel over Redis' publish and subscribe: one channel for all processes that share a database of a server. Redis keeps no message
 * for a process that is not connected. In order while the connection lasts. Orders that this process publishes reach its own listeners at once;
 * the copy that comes back is known by its sender's name and is not read. While no other process listens, orders are not published at all:
 * writing them, and having them sent back, would cost a lone process as much as the gate does. A process that begins to listen says so by
 * a message without orders.
 *
 * Bounded: a message beyond so many under way, or while Redis is away, is not published, and counted. A message that can't be read is
 * dropped and counted; if it claims to be a reservation it also counts as a gap, because buyer filters rely on all of these.
 */

import type { Clock } from '../../base/clock.ts'
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

/** For so long after a message that reached this process alone, it believes to be alone. */
const ALONE_MS = 250

interface ChannelParts {
  readonly connection: Pick<RedisConnection, 'command' | 'subscribe' | 'database' | 'oneServer'>
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  /** A name that no other process has. */
  readonly sender: string
}

/** @returns `listening` resolves when it listens for the first time, or when the connection is closed. */
export function createRedisChannel({
  connection,
  clock,
  log,
  meters,
  sender,
}: ChannelParts): Channel & { readonly listening: Promise<void> } {
  const name = messageChannel(connection.database)
  const own = `{"kind":"orders","from":${JSON.stringify(sender)},`
  const listeners: ((message: ChannelMessage) => void)[] = []
  const gapListeners: (() => void)[] = []
  let underway = 0
  let unreadable = 0
  /** Orders that were published in this turn: one message for all of them. */
  let bundle: Order[] = []
  /** When the last message was sent that one process got, and when the last one of our own came back. Monotonic, ms. */
  let gotByOneMs = Number.NEGATIVE_INFINITY
  let cameBackMs = Number.NEGATIVE_INFINITY

  /** The one that got it was this process. */
  function isAlone(): boolean {
    return clock.elapsed() - gotByOneMs < ALONE_MS && cameBackMs >= gotByOneMs
  }

  function hear(text: string): void {
    if (text.startsWith(own)) {
      cameBackMs = clock.elapsed()
      return
    }
    const message = readMessage(text)
    if (message.kind === 'orders') {
      gotByOneMs = Number.NEGATIVE_INFINITY
      if (message.orders.length === 0) return
    }
    if (message.kind !== 'unreadable') {
      callAll(listeners, message)
      return
    }
    meters.count('messages_lost', 'unreadable')
    unreadable += 1
    if (unreadable === 1)
      log.warn({ event: 'message_unreadable', characters: text.length }, 'message on the channel not readable: dropped')
    if (message.reservation) gap()
  }

  function gap(): void {
    meters.count('messages_lost', 'gap')
    callAll(gapListeners, undefined)
  }

  function sendBundle(): void {
    const orders = bundle
    bundle = []
    for (let i = 0; i < orders.length; i += ORDERS_PER_MESSAGE) void sendOrders(orders.slice(i, i + ORDERS_PER_MESSAGE))
  }

  /** How many processes got it; undefined: it was not sent, or it is not known. */
  async function send(message: object): Promise<number | undefined> {
    if (underway >= UNDERWAY_MAX) {
      meters.count('messages_lost', 'unsaid')
      return undefined
    }
    underway += 1
    try {
      return Number(await connection.command(['PUBLISH', name, JSON.stringify(message)]))
    } catch (error) {
      meters.count('messages_lost', 'unsaid')
      if (!(error instanceof Fault)) log.error({ event: 'message_not_published', err: error }, 'message not published')
      return undefined
    } finally {
      underway -= 1
    }
  }

  async function sendOrders(orders: readonly Order[]): Promise<void> {
    const sentMs = clock.elapsed()
    const got = await send({ kind: 'orders', from: sender, orders })
    // In a cluster the reply counts those who listen at one of its servers.
    gotByOneMs = got === 1 && connection.oneServer ? sentMs : Number.NEGATIVE_INFINITY
  }

  /** It listens. Another process that believes to be alone hears so at once; what that one left out before, the gap stands for. */
  async function joined(): Promise<void> {
    await send({ kind: 'orders', from: sender, orders: [] })
    gap()
  }

  return {
    publish(message) {
      if (message.kind !== 'orders') {
        // What was published before it goes before it.
        sendBundle()
        void send(message)
        return
      }
      if (!isAlone()) {
        if (bundle.length === 0) queueMicrotask(sendBundle)
        bundle.push(...message.orders)
      }
      callAll(listeners, message)
    },
    // As `reserve.lua` writes it, so that older workers understand it; its figures are older than all others and change nothing.
    wake: (partition, epoch) =>
      void send({ kind: 'reserved', item: partition, epoch, version: 0, left: 0, buyers: [] }),
    listen: listener => void listeners.push(listener),
    onGap: listener => void gapListeners.push(listener),
    // Messages from before the subscription were missed too.
    listening: connection.subscribe(name, hear, () => void joined()).then(joined),
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
