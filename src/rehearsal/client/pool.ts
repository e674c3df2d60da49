/**
 * Many keep-alive connections as one way to the server: whoever has something to send takes the connection that has been idle longest,
 * or waits in line for one. Each connection comes from an address of its own. One that breaks is opened again; what was on it is lost
 * and says so. One that is not open in time counts as refused. When nothing can be opened any more the pool is gone, and everything in
 * line is lost.
 * Does not ask again by itself, and never has two requests on one connection.
 *
 * States of a seat: opening → idle ⇄ busy → broken → opening …, or dead after too many refused tries.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { type Answer, Connection, type Target } from './connection.ts'
import { Line } from './line.ts'

/** One request and who wants to hear of it. Exactly one of `answered` and `lost` is called. */
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
  /** The address that a seat comes from; undefined where the system shall choose. */
  readonly addressOf: (seat: number) => string | undefined
  /** How often a broken connection is opened again in vain before it is given up; eight times if nothing is said. */
  readonly reopenTriesMax?: number
  /** Ends the opening; afterwards `close` does. */
  readonly stop?: AbortSignal
}

interface Seat {
  readonly no: number
  connection: Connection | undefined
  job: Job | undefined
}

/** An answer that takes longer is none: the connection is given up, and nobody knows what happened. */
export const ANSWER_MS_MAX = 20_000
/** The system itself would wait for minutes. */
const CONNECT_MS_MAX = 5_000
const OPENING_AT_ONCE_MAX = 250
const REOPEN_TRIES_MAX = 8
const REOPEN_WAIT_MS = 100
const REOPEN_WAIT_MS_MAX = 1_000

export class Pool {
  readonly #options: PoolOptions
  readonly #seats: Seat[] = []
  readonly #idle = new Line<Seat>()
  readonly #waiting = new Line<Job>()
  readonly #closing = new AbortController()
  #dead = 0

  private constructor(options: PoolOptions) {
    this.#options = options
  }

  /** All connections, or an error and none. */
  static async open(options: PoolOptions): Promise<Pool> {
    const pool = new Pool(options)
    const { stop } = options
    const giveUp = () => pool.close()
    stop?.addEventListener('abort', giveUp)
    try {
      for (let from = 0; from < options.connections; from += OPENING_AT_ONCE_MAX) {
        if (stop?.aborted) throw new Fault('interrupted', 'interrupted')
        const numbers = Array.from(
          { length: Math.min(OPENING_AT_ONCE_MAX, options.connections - from) },
          (_, i) => from + i,
        )
        const tried = await Promise.allSettled(
          numbers.map(no => pool.#take({ no, connection: undefined, job: undefined })),
        )
        const failed = tried.find(one => one.status === 'rejected')
        if (failed !== undefined) throw stop?.aborted ? new Fault('interrupted', 'interrupted') : failed.reason
      }
    } catch (error) {
      pool.close()
      throw error
    } finally {
      stop?.removeEventListener('abort', giveUp)
    }
    void pool.#giveUpSlowOnes()
    return pool
  }

  /** Nothing can be sent any more: the server is gone. */
  get gone(): boolean {
    return this.#dead === this.#seats.length
  }

  get waiting(): number {
    return this.#waiting.length
  }

  send(job: Job): void {
    if (this.gone || this.#closing.signal.aborted) {
      job.lost(this.#options.clock.elapsed())
      return
    }
    const seat = this.#idle.shift()
    if (seat === undefined) this.#waiting.push(job)
    else this.#put(seat, job)
  }

  /** Everything unanswered is lost. */
  close(): void {
    this.#closing.abort()
    this.#loseWaiting()
    for (const seat of this.#seats) seat.connection?.close()
  }

  #put(seat: Seat, job: Job): void {
    seat.job = job
    job.sentMs = this.#options.clock.elapsed()
    seat.connection!.send(job.bytes)
  }

  async #take(seat: Seat): Promise<void> {
    const answered = (_: Connection, answer: Answer) => {
      const job = seat.job
      if (job === undefined) return
      seat.job = undefined
      // The next request leaves before this answer is looked at: the wire does not wait for our bookkeeping.
      const next = this.#waiting.shift()
      if (next === undefined) this.#idle.push(seat)
      else this.#put(seat, next)
      job.answered(answer, this.#options.clock.elapsed())
    }
    const ended = (connection: Connection) => {
      if (seat.connection !== connection) return
      seat.connection = undefined
      this.#idle.remove(seat)
      const job = seat.job
      seat.job = undefined
      job?.lost(this.#options.clock.elapsed())
      if (!this.#closing.signal.aborted) void this.#reopen(seat)
    }
    const connection = await this.#connect(seat, answered, ended)
    if (this.#closing.signal.aborted) return connection.close()
    if (this.#seats[seat.no] === undefined) this.#seats[seat.no] = seat
    seat.connection = connection
    const next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(seat)
    else this.#put(seat, next)
  }

  async #connect(
    { no }: Seat,
    answered: (connection: Connection, answer: Answer) => void,
    ended: (connection: Connection) => void,
  ): Promise<Connection> {
    const { clock, target, addressOf } = this.#options
    const late = new AbortController()
    const done = new AbortController()
    void clock.sleep(CONNECT_MS_MAX, done.signal).then(() => done.signal.aborted || late.abort(tooLate()))
    const giveUp = AbortSignal.any([late.signal, this.#closing.signal])
    return Connection.open(target, answered, ended, addressOf(no), giveUp).finally(() => done.abort())
  }

  async #reopen(seat: Seat): Promise<void> {
    const triesMax = this.#options.reopenTriesMax ?? REOPEN_TRIES_MAX
    for (let tries = 1; tries <= triesMax; tries++) {
      if (this.#closing.signal.aborted) return
      try {
        return await this.#take(seat)
      } catch {
        const waitMs = Math.min(REOPEN_WAIT_MS_MAX, REOPEN_WAIT_MS * tries)
        await this.#options.clock.sleep(waitMs, this.#closing.signal)
      }
    }
    this.#dead += 1
    if (this.gone) this.#loseWaiting()
  }

  #loseWaiting(): void {
    for (let job = this.#waiting.shift(); job !== undefined; job = this.#waiting.shift())
      job.lost(this.#options.clock.elapsed())
  }

  async #giveUpSlowOnes(): Promise<void> {
    const { clock } = this.#options
    while (!this.#closing.signal.aborted) {
      await clock.sleep(1_000, this.#closing.signal)
      const latestMs = clock.elapsed() - ANSWER_MS_MAX
      for (const seat of this.#seats) {
        if (seat.job !== undefined && seat.job.sentMs < latestMs) seat.connection?.close()
      }
    }
  }
}

/** As the system would say it, only sooner. */
function tooLate(): Error {
  return Object.assign(new Error(`no connection within ${CONNECT_MS_MAX / 1000} s`), { code: 'ETIMEDOUT' })
}
