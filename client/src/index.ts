/** Buying at a Stampede sale, from a browser or Node 20 and later. Without dependencies. */

import { Buying, type BuyOptions } from './buying.ts'
import { Calls, type Connection } from './calls.ts'
import { type News, watchNews } from './live.ts'
import { ServerClock } from './server-clock.ts'
import { type LineOptions, WaitingLine } from './waiting-line.ts'
import type { Contact, Guest, Join, Order, Orders, OwnOrder, PaymentStarted, Sale, Session, Ticket } from './wire.ts'

export type { BuyingState, BuyOptions } from './buying.ts'
export type { Connection } from './calls.ts'
export type { ShowWidget, WidgetTerms } from './challenge.ts'
export { type FailureCode, StampedeFailure } from './failure.ts'
export type { LineNews, News } from './live.ts'
export type { LineOptions } from './waiting-line.ts'
export type * from './wire.ts'

interface PayOptions {
  readonly provider?: string
  readonly method?: string
  /** Where the buyer comes back to. */
  readonly returnUrl?: string
}

export class StampedeClient {
  readonly #calls: Calls
  readonly #clock: ServerClock
  readonly #line: WaitingLine
  readonly #buying: Buying

  constructor(connection: Connection = {}) {
    this.#calls = new Calls(connection)
    this.#clock = new ServerClock(this.#calls)
    this.#line = new WaitingLine(this.#calls, this.#clock)
    this.#buying = new Buying(this.#calls, this.#clock, this.#line)
  }

  /** Everything that is published. */
  async sales(): Promise<readonly Sale[]> {
    return (await this.#calls.send<{ sales: readonly Sale[] }>('/api/sales')).sales
  }

  sale(id: string): Promise<Sale> {
    return this.#calls.send(`/api/sales/${encodeURIComponent(id)}`)
  }

  /** Unix milliseconds by the clock that opens sales. */
  async serverNowMs(): Promise<number> {
    await this.#clock.measure()
    return this.#clock.nowMs()
  }

  session(): Promise<Session> {
    return this.#calls.send('/api/session')
  }

  /** Trades the shop's token for the page's cookie. */
  async signIn(token: string): Promise<void> {
    await this.#calls.send('/api/session', { method: 'POST', bearer: token })
  }

  /** Where guests are let in: a token under this name, used from now on. */
  async signInAsGuest(name?: string): Promise<Guest> {
    const guest = await this.#calls.send<Guest>('/api/session', {
      method: 'POST',
      body: name === undefined ? {} : { buyer: name },
    })
    this.#calls.hold(guest.token)
    return guest
  }

  /**
   * Waits for the opening, gets the ticket before it, orders, and sends the order again for as long as it is unknown what became of it.
   * Where the sale has a waiting line, it joins the line, waits for its turn, and joins again at the end after a missed one.
   * Resolves with the order: placed, or `closed` if it was refused after all. Throws a StampedeFailure: `sold_out`, `not_enough` (with `left`), `attempts_used`, …
   */
  buy(sale: string, item: string, options?: BuyOptions): Promise<Order> {
    return this.#buying.buy(sale, item, options)
  }

  /** The right to try. `buy` gets it by itself. */
  ticket(sale: string, item: string, options: Pick<BuyOptions, 'signal' | 'showWidget'> = {}): Promise<Ticket> {
    return this.#buying.ticket(sale, item, options)
  }

  /** A random moment before the opening, in Unix milliseconds of the server: when to fetch the ticket, so that not all pages fetch it at once. */
  ticketMomentMs(sale: Sale): number {
    return this.#buying.ticketMomentMs(sale)
  }

  /** Joins the waiting line of a sale: a number that no other buyer has. Again: the same, or a new last one after a missed turn. `buy` does it by itself. */
  joinLine(sale: string, options: Pick<LineOptions, 'signal' | 'showWidget'> = {}): Promise<Join> {
    return this.#line.join(sale, options)
  }

  /** Throws `not_in_line` where the buyer is in none. */
  placeInLine(sale: string): Promise<Join> {
    return this.#line.where(sale)
  }

  leaveLine(sale: string): Promise<void> {
    return this.#line.leave(sale)
  }

  /** Joins when the line opens, waits, and resolves when the buyer is let in: then get a ticket before `claimBy`. */
  async waitInLine(sale: string, options: LineOptions = {}): Promise<Join> {
    return this.#line.wait(await this.sale(sale), options)
  }

  /** The buyer's orders, newest first, a page behind `after`. */
  orders(after?: string): Promise<Orders> {
    return this.#calls.send(`/api/orders${after === undefined ? '' : `?after=${encodeURIComponent(after)}`}`)
  }

  /** With its contact, where the sale asks for one. */
  order(id: string): Promise<OwnOrder> {
    return this.#calls.send(orderAt(id))
  }

  /** Until the order is paid. Fields that are not named stay. Throws `contact_invalid`, with the `field`. */
  setContact(id: string, contact: Contact): Promise<OwnOrder> {
    return this.#calls.send(orderAt(id), { method: 'PATCH', body: { contact } })
  }

  cancel(id: string): Promise<Order> {
    return this.#calls.send(`${orderAt(id)}/cancel`, { method: 'POST' })
  }

  /** Send the buyer to `payUrl`, or show `qr`. Again: the same payment. Throws `contact_missing` where the sale asks for a contact first: `missing` names the fields. */
  pay(id: string, options: PayOptions = {}): Promise<PaymentStarted> {
    return this.#calls.send(`${orderAt(id)}/payment`, { method: 'POST', body: options })
  }

  /** The buyer's orders and places in line, stock and sales as they change, until the function that it returns is called. */
  watch(hear: (news: News) => void): () => void {
    return watchNews(this.#calls, hear)
  }
}

const orderAt = (id: string) => `/api/orders/${encodeURIComponent(id)}`
