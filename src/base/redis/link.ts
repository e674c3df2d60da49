/**
 * One connection to Redis, kept up: when it breaks, the next is opened after a wait that grows. Each socket is a client of its own, so
 * a command is written to the socket it was meant for or to none; nothing waits for a later one.
 *
 * Guarantees: while it is down every call fails at once, and nothing was sent; a call that was sent and not answered (timeout, or the
 * socket died) has an unknown outcome. The first call that a silent server leaves unanswered drops the socket. `address` is asked before
 * every connect; the link is up only after `onUp`. Passwords never reach a log line.
 *
 * States: down → connecting → up → down …, closed at the end.
 */

import { createClient, ErrorReply } from '@redis/client'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { fromReply, isNoScript, maybeDone, notDone, timeoutFault } from './faults.ts'
import { type Address, type HostPort, nameOf } from './redis-url.ts'

type Client = ReturnType<typeof newClient>

const RECONNECT_MS_MIN = 20
/** Short: as long as it lasts the item is not sold, and a connect that is refused costs a server little. */
const RECONNECT_MS_MAX = 250
const REASONS_MAX = 5
/** More than the callers' own bounds let through: beyond it something is wrong, and nothing is sent. */
const UNDERWAY_MAX = 10_000

export interface LinkOptions {
  /** A failure is like a server that is away. */
  readonly address: () => Address | Promise<Address>
  readonly clock: Clock
  readonly log: Log
  /** How long a call may take, from the moment it is made. */
  readonly timeoutMs: number
  readonly name: string
  /** After every connect, before any call. A failure drops the socket. */
  readonly onUp?: ((client: Client) => Promise<void>) | undefined
}

interface Call {
  readonly what: string
  readonly untilMs: number
  late: boolean
  /** Of the socket it was sent on. */
  readonly drop: ((cause: Error) => void) | undefined
}

export class Link {
  readonly #options: LinkOptions
  readonly #closing = new AbortController()
  readonly #ended: Promise<void>
  #up: Client | undefined
  #at: string | undefined
  #ups = 0
  /** Calls without an answer, oldest first. One timer watches all of them: they have the same time. */
  readonly #underway = new Set<Call>()
  #watching = false
  #drop: ((cause: Error) => void) | undefined

  constructor(options: LinkOptions) {
    this.#options = options
    this.#ended = this.#keepUp()
  }

  isUp(): boolean {
    return this.#up !== undefined
  }

  /** `host:port` of the server it is connected to, or was asked to connect to last. */
  at(): string | undefined {
    return this.#at
  }

  /** How often it came up: another number is another connection, perhaps to another server. */
  ups(): number {
    return this.#ups
  }

  /**
   * Several commands in one write, answered in order. A refusal of the first is thrown, NOSCRIPT as it came; a refusal of a later one is
   * an error among the replies: the first was done.
   */
  async send(what: string, commands: readonly string[][]): Promise<unknown[]> {
    const client = this.#up
    if (client === undefined) throw notDone('redis_away', what, 'not connected')
    if (this.#underway.size >= UNDERWAY_MAX)
      throw notDone('redis_refused', what, `${UNDERWAY_MAX} calls are under way already`)
    const drop = this.#drop
    const { clock, timeoutMs } = this.#options
    const call: Call = { what, untilMs: clock.elapsed() + timeoutMs, late: false, drop }
    this.#underway.add(call)
    if (!this.#watching) void this.#watch()
    const replies = await Promise.allSettled(commands.map(args => client.sendCommand(args)))
    this.#underway.delete(call)
    const [first] = replies
    const lost = replies.find(reply => reply.status === 'rejected' && !(reply.reason instanceof ErrorReply))
    if (lost?.status === 'rejected')
      throw call.late ? timeoutFault(what, timeoutMs) : maybeDone('redis_lost', what, messageOf(lost.reason))
    if (first?.status !== 'rejected')
      return replies.map(reply => (reply.status === 'fulfilled' ? reply.value : reply.reason))
    const { reason } = first
    if (isNoScript(reason)) throw reason
    const fault = fromReply(reason, what)
    // A server that answers so is not the primary any more: the next connection finds the one that is.
    if ('code' in fault && fault.code === 'redis_readonly') drop?.(fault)
    throw fault
  }

  /** Drops the socket of the first call that is late. Ends when no call is under way. */
  async #watch(): Promise<void> {
    const { clock, timeoutMs } = this.#options
    this.#watching = true
    for (const call of this.#underway) {
      await clock.sleep(call.untilMs - clock.elapsed(), this.#closing.signal)
      if (!this.#underway.has(call) || this.#closing.signal.aborted) continue
      call.late = true
      call.drop?.(timeoutFault(call.what, timeoutMs))
    }
    this.#watching = false
  }

  /** Ends the socket, if there is one; the next follows. */
  drop(why: string): void {
    this.#drop?.(new Error(why))
  }

  /** Ends the socket if it leads to none of these servers. */
  keepTo(servers: readonly HostPort[], why: string): void {
    if (this.isUp() && !servers.some(server => nameOf(server) === this.#at)) this.drop(why)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.drop('closing')
    await this.#ended
  }

  async #keepUp(): Promise<void> {
    const { clock, log, name, timeoutMs } = this.#options
    const { signal } = this.#closing
    let waitMs = RECONNECT_MS_MIN
    /** Each reason is logged once. */
    const logged = new Set<string>()
    while (!signal.aborted) {
      const broken = Promise.withResolvers<Error>()
      this.#drop = broken.resolve
      const given = new AbortController()
      const connected = new AbortController()
      const watch = clock.sleep(timeoutMs, connected.signal).then(() => {
        if (!connected.signal.aborted) broken.resolve(timeoutFault('connecting', timeoutMs))
      })
      try {
        const client = await Promise.race([this.#open(broken.resolve, given.signal), broken.promise.then(thrown)])
        connected.abort()
        if (!signal.aborted) {
          if (logged.size > 0) log.info({ event: 'redis_back', redis: name, at: this.#at }, 'redis is back')
          logged.clear()
          waitMs = RECONNECT_MS_MIN
          this.#up = client
          this.#ups += 1
          throw await broken.promise
        }
      } catch (error) {
        const reason = messageOf(error)
        if (!signal.aborted && !logged.has(reason) && logged.size < REASONS_MAX) {
          logged.add(reason)
          log.warn({ event: 'redis_away', redis: name, at: this.#at, reason }, 'redis is away')
        }
      }
      connected.abort()
      await watch
      this.#up = undefined
      given.abort()
      await clock.sleep(waitMs, signal)
      waitMs = Math.min(waitMs * 2, RECONNECT_MS_MAX)
    }
  }

  /** A client that is connected and checked. Given up at any moment, also in the middle of this, it leaves nothing open. */
  async #open(broken: (error: Error) => void, given: AbortSignal): Promise<Client> {
    const { address, onUp, timeoutMs } = this.#options
    const found = await address()
    if (given.aborted) throw new Error('given up')
    this.#at = nameOf(found)
    const client = newClient(found, timeoutMs)
    client.on('error', broken)
    given.addEventListener('abort', () => client.destroy())
    // Given up while its socket was being opened, it has none to end yet: that comes later.
    client.on('connect', () => {
      if (given.aborted) client.destroy()
    })
    await client.connect()
    await onUp?.(client)
    return client
  }
}

function thrown(error: Error): never {
  throw error
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'connection closed'
}

function newClient({ host, port, tls, username, password, database }: Address, timeoutMs: number) {
  const socket = { host, port, reconnectStrategy: false, connectTimeout: timeoutMs } as const
  return createClient({
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    database,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    // Zero: the client's timer ends when a command is written. Ours counts until the answer.
    commandOptions: { timeout: 0 },
    socket: tls ? { ...socket, tls } : socket,
  })
}
