/**
 * Subscriptions: one connection for all channels, opened with the first, subscribed anew after every reconnect. It is pinged, so that a
 * server that vanished is noticed and `onGap` called. Messages that were published while it was down are lost.
 */

import { Link, type LinkOptions } from './link.ts'
import type { HostPort } from './redis-url.ts'

interface Subscription {
  readonly channel: string
  readonly onMessage: (text: string) => void
  readonly onGap: () => void
  readonly subscribed: PromiseWithResolvers<void>
  wasSubscribed: boolean
}

type Listener = Parameters<NonNullable<LinkOptions['onUp']>>[0]

const PING_EVERY_MS = 2_000

export class Subscriptions {
  readonly #options: Omit<LinkOptions, 'name'>
  readonly #closing = new AbortController()
  readonly #all: Subscription[] = []
  #link: Link | undefined
  /** The socket that listens to all of them. */
  #listening: Listener | undefined
  #watched: Promise<void> | undefined

  constructor(options: Omit<LinkOptions, 'name'>) {
    this.#options = options
  }

  async add(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<void> {
    const one: Subscription = { channel, onMessage, onGap, subscribed: Promise.withResolvers(), wasSubscribed: false }
    this.#all.push(one)
    if (this.#link === undefined) this.#open()
    // While it connects, `onUp` subscribes all. A failure here means that the socket is lost; the next one subscribes all.
    else if (this.#listening !== undefined) void listen(this.#listening, one).catch(() => {})
    return one.subscribed.promise
  }

  /** It must be connected to one of these: another server may not get messages any more, without knowing it. */
  moveTo(servers: readonly HostPort[]): void {
    this.#link?.keepTo(servers, 'listening elsewhere')
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#link?.close()
    await this.#watched
    for (const { subscribed } of this.#all) subscribed.resolve()
  }

  #open(): void {
    const { onUp } = this.#options
    this.#link = new Link({
      ...this.#options,
      name: 'channel',
      onUp: async client => {
        this.#listening = undefined
        await onUp?.(client)
        for (const one of this.#all) await listen(client, one)
        this.#listening = client
      },
    })
    this.#watched = this.#watch()
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      await this.#options.clock.sleep(PING_EVERY_MS, signal)
      // A failure has dropped the socket already; the link logs it and opens the next.
      if (!signal.aborted) await this.#link?.send('PING', [['PING']]).catch(() => {})
    }
  }
}

async function listen(client: Listener, one: Subscription): Promise<void> {
  await client.subscribe(one.channel, text => one.onMessage(text))
  if (one.wasSubscribed) one.onGap()
  one.wasSubscribed = true
  one.subscribed.resolve()
}
