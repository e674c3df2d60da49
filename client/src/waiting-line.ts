/**
 * The waiting line of a sale: joins when it opens, by the server's clock and at a random moment of the next one; waits, with news over the live connection or, where
 * there is none, by asking as often as the answers say; and comes back at the end after a missed turn. The place is the server's: a program that starts again, or
 * another device of the same buyer, finds it where it was.
 */

import type { Calls } from './calls.ts'
import { type ShowWidget, solve } from './challenge.ts'
import { StampedeFailure } from './failure.ts'
import { type LineNews, type News, watchNews } from './live.ts'
import { joinMomentMs, patiently, pauseMs, sleep } from './pauses.ts'
import type { ServerClock } from './server-clock.ts'
import type { Join, Sale } from './wire.ts'

export interface LineOptions {
  /** Ends the wait. The place in line stays the buyer's. */
  readonly signal?: AbortSignal | undefined
  readonly showWidget?: ShowWidget | undefined
  /** Again whenever something has changed. */
  readonly onPlace?: (join: Join) => void
  /** False: `sold_out` is thrown as soon as no unit is left. By default the place is kept: units of orders that are not paid come back. */
  readonly waitForReturns?: boolean | undefined
}

/** With live news, asking only renews the estimate. */
const LIVE_POLL_MS = 15_000
/** The sale may have been ended by an operator: it is read once in so many polls. */
const SALE_EVERY_POLLS = 5

export class WaitingLine {
  readonly #calls: Calls
  readonly #clock: ServerClock

  constructor(calls: Calls, clock: ServerClock) {
    this.#calls = calls
    this.#clock = clock
  }

  /** Solves the check before it, if the sale has one. */
  async join(sale: string, { signal, showWidget }: LineOptions = {}): Promise<Join> {
    const path = lineAt(sale)
    try {
      return await this.#calls.send<Join>(path, { method: 'POST', body: {}, signal })
    } catch (error) {
      if (!(error instanceof StampedeFailure) || error.code !== 'challenge_required') throw error
      const challenge = await solve(error, showWidget)
      return patiently(() => this.#calls.send<Join>(path, { method: 'POST', body: { challenge }, signal }), signal)
    }
  }

  where(sale: string, signal?: AbortSignal): Promise<Join> {
    return this.#calls.send(lineAt(sale), { signal })
  }

  async leave(sale: string): Promise<void> {
    await this.#calls.send(lineAt(sale), { method: 'DELETE' })
  }

  /** Joins if need be, and resolves when the buyer is let in, or has a live order (`done`). */
  async wait(sale: Sale, options: LineOptions): Promise<Join> {
    const { signal, onPlace, waitForReturns = true } = options
    const wait = new Wait(this.#calls, sale)
    try {
      let join = await this.#joinWhenOpen(sale, options)
      for (;;) {
        onPlace?.(join)
        if (join.state === 'admitted' || join.state === 'done') return join
        if (join.state === 'waiting' && join.left === 0 && !waitForReturns)
          throw new StampedeFailure(
            'sold_out',
            'no unit is left, and the caller does not wait for units that come back',
          )
        if (join.state === 'missed') join = await this.#joinWhenOpen(sale, options)
        else join = await this.#next(join, wait, signal)
        if (wait.isOver(this.#clock.nowMs())) throw new StampedeFailure('sale_over', 'the sale is over')
      }
    } finally {
      wait.stop()
    }
  }

  async #joinWhenOpen(sale: Sale, options: LineOptions): Promise<Join> {
    const { signal } = options
    await patiently(() => this.#clock.measure(signal), signal)
    const { opensAt = sale.opensAt, sealsAt } = sale.line ?? {}
    const opensAtMs = Date.parse(opensAt)
    if (this.#clock.nowMs() < opensAtMs) {
      const momentMs = joinMomentMs(opensAtMs, sealsAt === undefined ? undefined : Date.parse(sealsAt))
      await sleep(momentMs - this.#clock.nowMs(), signal)
    }
    for (;;) {
      try {
        return await patiently(() => this.join(sale.id, options), signal)
      } catch (error) {
        if (!(error instanceof StampedeFailure) || error.code !== 'sale_not_open') throw error
        // The opening was moved, or the clocks differ.
        await patiently(() => this.#clock.measure(signal, true), signal)
        await sleep(Math.max(Date.parse(String(error.more.opensAt)) - this.#clock.nowMs(), pauseMs(0)), signal)
      }
    }
  }

  /** Where the buyer is after the next piece of news. */
  async #next(join: Join, wait: Wait, signal: AbortSignal | undefined): Promise<Join> {
    const pollMs = join.pollAfterSeconds * 1_000
    const news = await wait.news(
      (wait.hearing ? Math.max(LIVE_POLL_MS, pollMs) : pollMs) * (1 + Math.random() / 4),
      signal,
    )
    if (news === undefined) {
      if (wait.polls++ % SALE_EVERY_POLLS === 0 || wait.isOver(this.#clock.nowMs()))
        wait.sale = await patiently(
          () => this.#calls.send<Sale>(`/api/sales/${encodeURIComponent(wait.sale.id)}`, { signal }),
          signal,
        )
      return patiently(() => this.where(wait.sale.id, signal), signal)
    }
    if (news.state === 'left')
      throw new StampedeFailure('not_in_line', 'the buyer has left the line, perhaps on another device')
    const { place, ahead, left, state } = news
    return { ...join, place, ahead, left, state, estimate: state === 'waiting' && left !== 0 ? join.estimate : null }
  }
}

/** What is heard during one wait. Where there are no WebSockets, nothing: then polls say everything. */
class Wait {
  sale: Sale
  polls = 0
  /** The live connection has told of this line. */
  hearing = false
  #latest: LineNews | undefined
  #wake = () => {}
  readonly stop: () => void

  constructor(calls: Calls, sale: Sale) {
    this.sale = sale
    this.stop = typeof WebSocket === 'undefined' ? () => {} : watchNews(calls, news => this.#hear(news))
  }

  isOver(nowMs: number): boolean {
    return this.sale.state === 'over' || nowMs >= Date.parse(this.sale.closesAt)
  }

  /** Undefined: none within this time. */
  async news(ms: number, signal: AbortSignal | undefined): Promise<LineNews | undefined> {
    const woken = new AbortController()
    this.#wake = () => woken.abort()
    if (this.#latest === undefined)
      await sleep(ms, signal === undefined ? woken.signal : AbortSignal.any([signal, woken.signal])).catch(error => {
        if (signal?.aborted) throw error
      })
    const latest = this.#latest
    this.#latest = undefined
    return latest
  }

  #hear(news: News): void {
    if (news.type === 'line' && news.sale === this.sale.id) {
      this.hearing = true
      this.#latest = news
      this.#wake()
    } else if (news.type === 'sale' && news.sale.id === this.sale.id) {
      this.sale = news.sale
      if (news.sale.state === 'over') this.#wake()
    }
  }
}

const lineAt = (sale: string) => `/api/sales/${encodeURIComponent(sale)}/line`
