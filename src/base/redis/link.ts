/**
 * One connection to Redis, kept up: when it breaks, the next is opened after a wait that grows. Each socket is a client of its own, so
 * a command is written to the socket it was meant for or to none; nothing waits for a later one.
 *
 * Guarantees: while it is down every call fails at once, and nothing was sent; a call that was sent and not answered (the time is up,
 * the socket died) has an unknown outcome. A silent server is not waited for twice: the socket is dropped with the first call it leaves
 * unanswered. Addresses and passwords never reach a log line.
 *
 * States: down → connecting → up → down …, closed at the end.
 */

import { createClient, ErrorReply } from '@redis/client'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { awayFault, crowdedFault, fromReply, isNoScript, lostFault, timeoutFault } from './faults.ts'

type Client = ReturnType<typeof newClient>

const RECONNECT_MS_MIN = 20
const RECONNECT_MS_MAX = 1_000
/** Far more than the callers' own bounds let through: beyond it something is wrong, and nothing is sent. */
const UNDERWAY_MAX = 10_000

interface LinkOptions {
  readonly url: string
  readonly clock: Clock
  readonly log: Log
  readonly timeoutMs: number
  readonly name: string
  /** After every connect, before anybody else may use it. A failure drops the socket. */
  readonly onUp?: (client: Client) => Promise<void>
}

export class Link {
  readonly #options: LinkOptions
  readonly #closing = new AbortController()
  readonly #ended: Promise<void>
  #up: Client | undefined
  #underway = 0
  #drop: ((cause: Error) => void) | undefined

  constructor(options: LinkOptions) {
    this.#options = options
    this.#ended = this.#keepUp()
  }

  isUp(): boolean {
    return this.#up !== undefined
  }

  /**
   * Several commands in one write, answered in order. A server's "no" to the first is thrown, NOSCRIPT as it came; a "no" to a later one
   * stands among the replies as an error: the first was done.
   */
  async send(what: string, commands: readonly string[][]): Promise<unknown[]> {
    const client = this.#up
    if (client === undefined) throw awayFault(what)
    if (this.#underway >= UNDERWAY_MAX) throw crowdedFault(what, UNDERWAY_MAX)
    const drop = this.#drop
    const { clock, timeoutMs } = this.#options
    const answered = new AbortController()
    let late = false
    const watch = clock.sleep(timeoutMs, answered.signal).then(() => {
      if (answered.signal.aborted) return
      late = true
      drop?.(timeoutFault(what, timeoutMs))
    })
    this.#underway += 1
    const replies = await Promise.allSettled(commands.map(args => client.sendCommand(args)))
    this.#underway -= 1
    answered.abort()
    await watch
    const [first] = replies
    const lost = replies.find(reply => reply.status === 'rejected' && !(reply.reason instanceof ErrorReply))
    if (lost?.status === 'rejected') throw late ? timeoutFault(what, timeoutMs) : lostFault(what, lost.reason)
    if (first?.status !== 'rejected')
      return replies.map(reply => (reply.status === 'fulfilled' ? reply.value : reply.reason))
    const { reason } = first
    if (isNoScript(reason)) throw reason
    const fault = fromReply(reason, what)
    // Whoever answers so is not the primary any more: the next connection finds the one that is.
    if ('code' in fault && fault.code === 'redis_readonly') drop?.(fault)
    throw fault
  }

  /** Ends the socket that is there, if one is; the next follows. */
  drop(why: string): void {
    this.#drop?.(new Error(why))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.drop('closing')
    await this.#ended
  }

  async #keepUp(): Promise<void> {
    const { clock, log, name, onUp, timeoutMs } = this.#options
    const { signal } = this.#closing
    let waitMs = RECONNECT_MS_MIN
    let away = false
    while (!signal.aborted) {
      const client = newClient(this.#options)
      const broken = Promise.withResolvers<Error>()
      client.on('error', broken.resolve)
      this.#drop = broken.resolve
      let given = false
      // A client that was given up while its socket was being opened has none to end yet: it comes later.
      client.on('connect', () => {
        if (given) client.destroy()
      })
      const connected = new AbortController()
      const watch = clock.sleep(timeoutMs, connected.signal).then(() => {
        if (!connected.signal.aborted) broken.resolve(timeoutFault('connecting', timeoutMs))
      })
      try {
        await Promise.race([client.connect().then(() => onUp?.(client)), broken.promise.then(thrown)])
        connected.abort()
        if (!signal.aborted) {
          if (away) log.info({ redis: name }, 'redis is back')
          away = false
          waitMs = RECONNECT_MS_MIN
          this.#up = client
          throw await broken.promise
        }
      } catch (error) {
        if (!away && !signal.aborted) log.warn({ redis: name, reason: messageOf(error) }, 'redis is away')
        away = true
      }
      connected.abort()
      await watch
      this.#up = undefined
      given = true
      client.destroy()
      await clock.sleep(waitMs, signal)
      waitMs = Math.min(waitMs * 2, RECONNECT_MS_MAX)
    }
  }
}

function thrown(error: Error): never {
  throw error
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown'
}

function newClient({ url, timeoutMs }: LinkOptions) {
  return createClient({
    url,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    // Zero: its own timer knows only the time before a command is written. Ours counts until the answer.
    commandOptions: { timeout: 0 },
    socket: { reconnectStrategy: false, connectTimeout: timeoutMs },
  })
}
