/**
 * From "I want it" to an order or a refusal, as docs/integrating.md has it: the ticket at a random moment before the opening, the order at the
 * opening by the server's clock, and the same ticket again for as long as it is unknown what became of it. The ticket holds the attempt:
 * however often it is sent, there is one order.
 */

import type { Calls } from './calls.ts'
import { type ShowWidget, solve } from './challenge.ts'
import { StampedeFailure } from './failure.ts'
import { patiently, pauseMs, sleep, ticketMomentMs } from './pauses.ts'
import type { ServerClock } from './server-clock.ts'
import type { LineOptions, WaitingLine } from './waiting-line.ts'
import type { Contact, Join, Order, Sale, Ticket } from './wire.ts'

/** What is happening, for a page that shows it. */
export type BuyingState =
  | { readonly kind: 'waiting'; readonly opensAtMs: number; readonly hasTicket: boolean }
  /** The sale has a waiting line. With `left` 0 it is sold out, and the line waits for units that come back. */
  | { readonly kind: 'in_line'; readonly join: Join }
  | { readonly kind: 'asking'; readonly tries: number }
  | { readonly kind: 'paused' }
  | { readonly kind: 'reserved'; readonly order: Order }

export interface BuyOptions {
  readonly quantity?: number
  /** In the `contactFields` of the sale. It is kept beside the order; `client.setContact` changes it until the order is paid. */
  readonly contact?: Contact
  /** Up to 20 short texts of your own, kept beside the order for the shop. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Ends the wait. An order that was sent may still be placed: ask for the buyer's orders. */
  readonly signal?: AbortSignal
  readonly onState?: (state: BuyingState) => void
  readonly showWidget?: ShowWidget
  /** One that was fetched before. */
  readonly ticket?: string | undefined
  /** In a waiting line that is sold out: false throws `sold_out` at once. By default the place is kept, for units that come back. */
  readonly waitForReturns?: boolean | undefined
}

const PAUSED_MS = 3_000
/** An opening nearer than this is waited for in place. */
const NEARLY_OPEN_MS = 2_000
const RESERVED_MS_FIRST = 250
const RESERVED_MS_MAX = 2_000

export class Buying {
  readonly #calls: Calls
  readonly #clock: ServerClock
  readonly #line: WaitingLine

  constructor(calls: Calls, clock: ServerClock, line: WaitingLine) {
    this.#calls = calls
    this.#clock = clock
    this.#line = line
  }

  /** The order, placed (`pending` or `paid`) or, if it was refused after all, `closed`. Throws a StampedeFailure that says why there is none. */
  async buy(saleId: string, item: string, options: BuyOptions = {}): Promise<Order> {
    const { signal, onState } = options
    await patiently(() => this.#clock.measure(signal), signal)
    const sale = await patiently(() => this.#calls.send<Sale>(saleAt(saleId), { signal }), signal)
    const opensAtMs = Date.parse(sale.opensAt)
    let { ticket } = options
    if (sale.line !== undefined && ticket === undefined) return this.#buyInLine(sale, sale.line.opensAt, item, options)
    const wait = (untilMs: number) => {
      if (this.#clock.nowMs() < opensAtMs) onState?.({ kind: 'waiting', opensAtMs, hasTicket: ticket !== undefined })
      return sleep(untilMs - this.#clock.nowMs(), signal)
    }
    if (ticket === undefined) {
      await wait(this.ticketMomentMs(sale))
      ticket = (await patiently(() => this.ticket(saleId, item, options), signal)).ticket
    }
    await wait(opensAtMs)
    return this.#order(saleId, item, ticket, options)
  }

  /** The ticket is given when it is the buyer's turn. Who comes too late for it joins again, at the end. */
  async #buyInLine(sale: Sale, lineOpensAt: string, item: string, options: BuyOptions): Promise<Order> {
    const { signal, onState } = options
    const opensAtMs = Date.parse(lineOpensAt)
    if (this.#clock.nowMs() < opensAtMs) onState?.({ kind: 'waiting', opensAtMs, hasTicket: false })
    const waiting: LineOptions = { ...options, onPlace: join => onState?.({ kind: 'in_line', join }) }
    for (let tries = 0; ; tries++) {
      await this.#line.wait(sale, waiting)
      try {
        const { ticket } = await patiently(() => this.ticket(sale.id, item, options), signal)
        return await this.#order(sale.id, item, ticket, options)
      } catch (error) {
        if (!(error instanceof StampedeFailure) || error.code !== 'not_admitted') throw error
      }
      await sleep(pauseMs(tries), signal)
    }
  }

  /** A random moment for fetching the ticket. */
  ticketMomentMs({ opensAt, ticketsBeforeSeconds }: Sale): number {
    const opensAtMs = Date.parse(opensAt)
    return ticketMomentMs(this.#clock.nowMs(), opensAtMs - ticketsBeforeSeconds * 1_000, opensAtMs)
  }

  /** Solves the check before it, if the sale has one. */
  async ticket(
    sale: string,
    item: string,
    { signal, showWidget }: Pick<BuyOptions, 'signal' | 'showWidget'>,
  ): Promise<Ticket> {
    const path = `${itemAt(sale, item)}/ticket`
    try {
      return await this.#calls.send<Ticket>(path, { method: 'POST', body: {}, signal })
    } catch (error) {
      if (!(error instanceof StampedeFailure) || error.code !== 'challenge_required') throw error
      const challenge = await solve(error, showWidget)
      return patiently(() => this.#calls.send<Ticket>(path, { method: 'POST', body: { challenge }, signal }), signal)
    }
  }

  async #order(sale: string, item: string, first: string, options: BuyOptions): Promise<Order> {
    const { quantity = 1, contact, metadata, signal, onState } = options
    let ticket = first
    let newTicket = false
    for (let tries = 0; ; tries++) {
      onState?.({ kind: 'asking', tries })
      try {
        const path = `${itemAt(sale, item)}/orders`
        const order = await this.#calls.send<Order>(path, {
          method: 'POST',
          body: { quantity, contact, metadata },
          bearer: ticket,
          signal,
        })
        return await this.#placed(order, options)
      } catch (error) {
        if (!(error instanceof StampedeFailure)) throw error
        if (error.code === 'ticket_invalid' && !newTicket) {
          newTicket = true
          ticket = (await patiently(() => this.ticket(sale, item, options), signal)).ticket
        } else await this.#wait(error, tries, options)
      }
    }
  }

  /** Before the same request again; throws where another try is pointless. */
  async #wait(error: StampedeFailure, tries: number, { signal, onState }: BuyOptions): Promise<void> {
    if (error.code === 'sale_paused') {
      onState?.({ kind: 'paused' })
      return sleep(PAUSED_MS + pauseMs(0), signal)
    }
    if (error.code === 'sale_not_open') {
      await patiently(() => this.#clock.measure(signal, true), signal)
      const leftMs = Date.parse(String(error.more.opensAt)) - this.#clock.nowMs()
      // Never at once: a server whose clock differs must not be flooded.
      if (leftMs < NEARLY_OPEN_MS) return sleep(Math.max(leftMs, pauseMs(0)), signal)
    }
    if (!error.passing) throw error
    return sleep(pauseMs(tries, error.retryAfterMs), signal)
  }

  /** In a cluster an order may be reserved a moment before it is placed. */
  async #placed(order: Order, { signal, onState }: BuyOptions): Promise<Order> {
    let found = order
    for (let waitMs = RESERVED_MS_FIRST; found.state === 'reserved'; waitMs = Math.min(RESERVED_MS_MAX, waitMs * 2)) {
      onState?.({ kind: 'reserved', order: found })
      await sleep(waitMs, signal)
      found = await patiently(() => this.#calls.send<Order>(`/api/orders/${order.id}`, { signal }), signal)
    }
    return found
  }
}

const saleAt = (sale: string) => `/api/sales/${encodeURIComponent(sale)}`
const itemAt = (sale: string, item: string) => `${saleAt(sale)}/items/${encodeURIComponent(item)}`
