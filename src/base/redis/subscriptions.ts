/**
 * What is listened to: one connection for all channels, opened with the first, subscribed anew after every reconnect. A connection
 * without traffic is asked for a sign of life, so that a server that vanished without a word is noticed and the gap is told.
 * Promises nothing about messages: what was said while it was down is not heard.
 */

import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { Link, type LinkOptions } from './link.ts'
import { type Address, nameOf } from './redis-url.ts'

interface SubscriptionsOptions {
  readonly address: LinkOptions['address']
  readonly clock: Clock
  readonly log: Log
  readonly timeoutMs: number
  /** Looks at the server before anything is subscribed there. */
  readonly onUp?: NonNullable<LinkOptions['onUp']>
}

interface Subscription {
  readonly channel: string
  readonly onMessage: (text: string) => void
  readonly onGap: () => void
  readonly stands: PromiseWithResolvers<void>
  stood: boolean
}

type Listener = Parameters<NonNullable<LinkOptions['onUp']>>[0]

const SIGN_OF_LIFE_MS = 2_000

export class Subscriptions {
  readonly #options: SubscriptionsOptions
  readonly #closing = new AbortController()
  readonly #all: Subscription[] = []
  #link: Link | undefined
  /** The socket that listens to all of them. */
  #listening: Listener | undefined
  #watched: Promise<void> | undefined

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  async add(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<void> {
    const one: Subscription = { channel, onMessage, onGap, stands: Promise.withResolvers(), stood: false }
    this.#all.push(one)
    if (this.#link === undefined) this.#open()
    // Until it listens, whoever is added meanwhile is listened for as well. One that fails has lost its socket; the next listens for all.
    else if (this.#listening !== undefined) void listen(this.#listening, one).catch(() => {})
    return one.stands.promise
  }

  /** It is to listen at one of these: a server that is none of them may hear nothing any more, and not know it. */
  moveTo(servers: readonly Pick<Address, 'host' | 'port'>[]): void {
    const link = this.#link
    if (link?.isUp() && !servers.some(server => nameOf(server) === link.at())) link.drop('listening elsewhere')
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#link?.close()
    await this.#watched
    for (const { stands } of this.#all) stands.resolve()
  }

  #open(): void {
    const { address, clock, log, timeoutMs, onUp } = this.#options
    this.#link = new Link({
      address,
      clock,
      log,
      timeoutMs,
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
      await this.#options.clock.sleep(SIGN_OF_LIFE_MS, signal)
      // A failure has dropped the socket already; the link says so in the log and opens the next.
      if (!signal.aborted) await this.#link?.send('PING', [['PING']]).catch(() => {})
    }
  }
}

async function listen(client: Listener, one: Subscription): Promise<void> {
  await client.subscribe(one.channel, text => one.onMessage(text))
  if (one.stood) one.onGap()
  one.stood = true
  one.stands.resolve()
}
