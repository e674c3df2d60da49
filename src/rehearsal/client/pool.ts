/**
 * Many keep-alive connections used as one. A request takes the connection that has been idle longest, or waits in a queue for one. A
 * connection that breaks is opened again; the request on it is reported as lost. Opening has a time limit. When no connection can be
 * opened any more the pool is `gone`, and every queued request is lost.
 * Does not repeat requests, and never has two requests on one connection.
 *
 * States of a seat (one connection and its address): opening → idle ⇄ busy → broken → opening …, or dead after too many failed tries.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { type Answer, Connection, type Target } from './connection.ts'

/** One request and its callbacks. Exactly one of `answered` and `lost` is called. */
export interface Job {
  readonly bytes: Buffer
  /** Set when the bytes leave, on the clock's `elapsed`. */
  sentMs: number
  answered(answer: Answer, nowMs: number): void
  lost(nowMs: number): void
}

interface PoolOptions {
  readonly target: Target
  readonly connections: number
  readonly clock: Clock
  /** The local address of a seat; undefined where the system chooses. */
  readonly addressOf: (seat: number) => string | undefined
  readonly reopenTriesMax?: number
  /** Interrupts `open`; afterwards `close` ends the pool. */
  readonly stop?: AbortSignal
}

interface Seat {
  readonly no: number
  connection: Connection | undefined
  job: Job | undefined
}

/** The connection is closed when an answer takes longer; the request's outcome is then unknown. */
export const ANSWER_MS_MAX = 20_000
/** The system's own limit is minutes. */
const CONNECT_MS_MAX = 5_000
const OPENING_AT_ONCE_MAX = 250
const REOPEN_TRIES_MAX = 8
const REOPEN_WAIT_MS = 100
const REOPEN_WAIT_MS_MAX = 1_000
const SHRINK_AT = 4_096

export class Pool {
  readonly #options: PoolOptions
  readonly #seats: Seat[] = []
  readonly #idle = new Fifo<Seat>()
  readonly #waiting = new Fifo<Job>()
  readonly #closing = new AbortController()
  #dead = 0

  private constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Opens all connections, or throws and leaves none open. */
  static async open(options: PoolOptions): Promise<Pool> {
    const pool = new Pool(options)
    const { stop, connections } = options
    const giveUp = () => pool.close()
    stop?.addEventListener('abort', giveUp)
    try {
      for (let from = 0; from < connections; from += OPENING_AT_ONCE_MAX) {
        stop?.throwIfAborted()
        const length = Math.min(OPENING_AT_ONCE_MAX, connections - from)
        const seats = Array.from({ length }, (_, i) => ({ no: from + i, connection: undefined, job: undefined }))
        const tried = await Promise.allSettled(seats.map(seat => pool.#connect(seat)))
        const failed = tried.find(one => one.status === 'rejected')
        if (failed !== undefined) throw failed.reason
      }
    } catch (error) {
      pool.close()
      throw stop?.aborted ? new Fault('interrupted', 'interrupted') : error
    } finally {
      stop?.removeEventListener('abort', giveUp)
    }
    void pool.#closeSlowConnections()
    return pool
  }

  /** No connection can be opened any more. */
  get gone(): boolean {
    return this.#dead === this.#seats.length
  }

  send(job: Job): void {
    const gone = this.gone || this.#closing.signal.aborted
    const seat = gone ? undefined : this.#idle.shift()
    if (gone) job.lost(this.#options.clock.elapsed())
    else if (seat === undefined) this.#waiting.push(job)
    else this.#start(seat, job)
  }

  /** Every unanswered request is lost. */
  close(): void {
    this.#closing.abort()
    this.#loseWaiting()
    for (const seat of this.#seats) seat.connection?.close()
  }

  #start(seat: Seat, job: Job): void {
    seat.job = job
    job.sentMs = this.#options.clock.elapsed()
    seat.connection!.send(job.bytes)
  }

  #startNext(seat: Seat): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(seat)
    else this.#start(seat, next)
  }

  async #connect(seat: Seat): Promise<void> {
    const { clock, target, addressOf } = this.#options
    const late = new AbortController()
    const done = new AbortController()
    void clock.sleep(CONNECT_MS_MAX, done.signal).then(() => done.signal.aborted || late.abort(connectTimeout()))
    const connection = await Connection.open(
      target,
      (_, answer) => this.#answered(seat, answer),
      ended => this.#ended(seat, ended),
      addressOf(seat.no),
      AbortSignal.any([late.signal, this.#closing.signal]),
    ).finally(() => done.abort())
    if (this.#closing.signal.aborted) return connection.close()
    this.#seats[seat.no] = seat
    seat.connection = connection
    this.#startNext(seat)
  }

  #answered(seat: Seat, answer: Answer): void {
    const { job } = seat
    if (job === undefined) return
    seat.job = undefined
    // The next request leaves before this answer is processed, so that our bookkeeping does not delay it.
    this.#startNext(seat)
    job.answered(answer, this.#options.clock.elapsed())
  }

  #ended(seat: Seat, connection: Connection): void {
    if (seat.connection !== connection) return
    seat.connection = undefined
    this.#idle.remove(seat)
    const { job } = seat
    seat.job = undefined
    job?.lost(this.#options.clock.elapsed())
    if (!this.#closing.signal.aborted) void this.#reopen(seat)
  }

  async #reopen(seat: Seat): Promise<void> {
    const { clock, reopenTriesMax = REOPEN_TRIES_MAX } = this.#options
    for (let tries = 1; tries <= reopenTriesMax; tries++) {
      if (this.#closing.signal.aborted) return
      try {
        return await this.#connect(seat)
      } catch {
        await clock.sleep(Math.min(REOPEN_WAIT_MS_MAX, REOPEN_WAIT_MS * tries), this.#closing.signal)
      }
    }
    this.#dead += 1
    if (this.gone) this.#loseWaiting()
  }

  #loseWaiting(): void {
    for (let job = this.#waiting.shift(); job !== undefined; job = this.#waiting.shift())
      job.lost(this.#options.clock.elapsed())
  }

  async #closeSlowConnections(): Promise<void> {
    const { clock } = this.#options
    while (!this.#closing.signal.aborted) {
      await clock.sleep(1_000, this.#closing.signal)
      const latestMs = clock.elapsed() - ANSWER_MS_MAX
      for (const { job, connection } of this.#seats) if (job !== undefined && job.sentMs < latestMs) connection?.close()
    }
  }
}

/** The error that the system would give later. */
function connectTimeout(): Error {
  return Object.assign(new Error(`no connection within ${CONNECT_MS_MAX / 1000} s`), { code: 'ETIMEDOUT' })
}

/** First in, first out. Taking from the front does not move the rest, so it costs the same at any length. */
class Fifo<T> {
  #items: (T | undefined)[] = []
  #from = 0

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.#from >= this.#items.length) return undefined
    const item = this.#items[this.#from]
    this.#items[this.#from] = undefined
    this.#from += 1
    if (this.#from >= SHRINK_AT && this.#from * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#from)
      this.#from = 0
    }
    return item
  }

  /** Linear in the length; rarely needed. */
  remove(item: T): void {
    const at = this.#items.indexOf(item, this.#from)
    if (at >= 0) this.#items.splice(at, 1)
  }
}
