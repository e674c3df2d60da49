/**
 * The state of the page. Code that changes it calls `changed`; views subscribe. An order only moves forward: an older state is dropped,
 * whether it was polled or pushed.
 */

import type { Doing, Facts } from './buy/button-state.ts'
import type { LineMessage, Order, OrderPayment, Sale } from './shapes.ts'

export type Session =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'in'; readonly buyer: string }
  | { readonly kind: 'out'; readonly signInUrl?: string | undefined }

const NOTHING: Doing = { kind: 'nothing' }
const LOADING = { kind: 'loading' } as const
const RANK = { reserved: 0, pending: 1, paid: 2, closed: 3 } as const

class Store {
  session: Session = { kind: 'unknown' }
  /** The device has a network. */
  online = navigator.onLine
  /** The last call got an answer. */
  reachable = true
  readonly sales = new Map<string, Sale>()
  /** Of these, the ones that the page brought along and no server has confirmed: their stock is not known. */
  readonly unconfirmed = new Set<string>()
  /** Ids, as the server lists them; undefined until it has. */
  listed: readonly string[] | undefined
  /** Sales and orders that do not exist, or are not this buyer's. */
  readonly missing = new Set<string>()
  readonly orders = new Map<string, Order>()
  ordersLoaded = false
  /** The cursor for older orders; null at the end. */
  ordersNext: string | null = null
  /** By sale with a waiting line, once the script of the line has found out: undefined where the buyer is let in. */
  readonly lines = new Map<string, Facts['inLine']>()
  /** What the script of the line does with a message of the live connection. */
  hearLine: (message: LineMessage) => void = () => {}
  /** Orders whose payment was begun here, and when the buyer returned (monotonic): the result may arrive later. */
  readonly paying = new Map<string, number>()
  /** The pay page of an order's open payment, where it has one. */
  readonly payPages = new Map<string, string>()
  /** When an order's payment was last begun here (monotonic). */
  readonly #begunMs = new Map<string, number>()
  /** When an item's stock, or a sale, last changed by anything but a poll (monotonic). */
  readonly #pushedMs = new Map<string, number>()
  readonly #doing = new Map<string, Doing>()
  readonly #ready = new Set<string>()
  readonly #listeners = new Set<() => void>()
  #scheduled = false

  subscribe(listen: () => void): () => void {
    this.#listeners.add(listen)
    return () => this.#listeners.delete(listen)
  }

  /** Several changes in one turn notify the listeners once. */
  changed(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      for (const listen of this.#listeners) listen()
    })
  }

  inLine({ id, line }: Sale): Facts['inLine'] {
    return line && (this.lines.has(id) ? this.lines.get(id) : LOADING)
  }

  doing(item: string): Doing {
    return this.#doing.get(item) ?? NOTHING
  }

  setDoing(item: string, doing: Doing): void {
    this.#doing.set(item, doing)
    this.changed()
  }

  /** There is a ticket for this item. */
  ready(item: string): boolean {
    return this.#ready.has(item)
  }

  setReady(item: string, ready: boolean): void {
    if (ready) this.#ready.add(item)
    else this.#ready.delete(item)
    this.changed()
  }

  /** The answer to a poll that was sent at `sentMs`: what was pushed since then is newer, whichever arrived first. */
  putPolled(sale: Sale, sentMs: number): void {
    const known = this.sales.get(sale.id)
    const pushedSince = (id: string) => (this.#pushedMs.get(id) ?? Number.NEGATIVE_INFINITY) >= sentMs
    const items = sale.items.map(item => {
      const newer = pushedSince(item.id) ? known?.items.find(one => one.id === item.id) : undefined
      return newer === undefined ? item : { ...item, left: newer.left }
    })
    const state = pushedSince(sale.id) && known !== undefined ? known.state : sale.state
    this.putSale({ ...sale, state, items })
  }

  /** A message of the live connection. */
  putPushed(sale: Sale): void {
    for (const { id } of [sale, ...sale.items]) this.#pushedMs.set(id, performance.now())
    this.putSale(this.withTexts(sale))
  }

  /** Lists and messages have no descriptions: those that are known stay. */
  withTexts(sale: Sale): Sale {
    const known = this.sales.get(sale.id)
    const text = (id: string) => known?.items.find(one => one.id === id)?.description
    return { ...sale, items: sale.items.map(item => ({ ...item, description: text(item.id) })) }
  }

  /** Written into the page when it was published. */
  putEmbedded(sale: Sale): void {
    this.sales.set(sale.id, sale)
    this.unconfirmed.add(sale.id)
  }

  /** There is no such sale or order, or it is not this buyer's. */
  miss(id: string): void {
    this.missing.add(id)
    if (this.unconfirmed.delete(id)) this.sales.delete(id)
    this.changed()
  }

  putSale(sale: Sale): void {
    this.sales.set(sale.id, sale)
    this.unconfirmed.delete(sale.id)
    this.missing.delete(sale.id)
    this.changed()
  }

  putLeft(saleId: string, item: string, left: number): void {
    const sale = this.sales.get(saleId)
    if (sale === undefined) return
    this.#pushedMs.set(item, performance.now())
    this.putSale({ ...sale, items: sale.items.map(one => (one.id === item ? { ...one, left } : one)) })
  }

  /** The answer to a request that was sent at `sentMs` does not know a payment that was begun since then. */
  putOrder(order: Order, sentMs = performance.now()): void {
    const known = this.orders.get(order.id)
    if (known !== undefined && RANK[known.state] > RANK[order.state]) return
    if (this.session.kind === 'in' && order.buyer !== this.session.buyer) return
    const stale = known?.payment !== undefined && sentMs < (this.#begunMs.get(order.id) ?? Number.NEGATIVE_INFINITY)
    this.orders.set(order.id, stale && order.state === 'pending' ? { ...order, payment: known.payment } : order)
    this.missing.delete(order.id)
    if (order.state === 'paid' || order.state === 'closed') this.paying.delete(order.id)
    this.changed()
  }

  /** A payment was begun here; `page` is its page, if a browser can open it. */
  putPayment(id: string, payment: OrderPayment, page: string | undefined): void {
    const order = this.orders.get(id)
    if (order === undefined || order.state !== 'pending') return
    this.#begunMs.set(id, performance.now())
    this.paying.delete(id)
    if (page === undefined) this.payPages.delete(id)
    else this.payPages.set(id, page)
    this.orders.set(id, { ...order, payment })
    this.changed()
  }

  /** The order of this item that counts: the live one, else the latest. */
  orderOf(item: string): Order | undefined {
    let found: Order | undefined
    for (const order of this.orders.values()) {
      if (order.item !== item) continue
      if (order.state !== 'closed') return order
      if (found === undefined || order.attempt > found.attempt) found = order
    }
    return found
  }

  /** Another buyer has signed in. */
  forgetBuyer(): void {
    this.orders.clear()
    this.ordersLoaded = false
    this.ordersNext = null
    this.paying.clear()
    this.payPages.clear()
    this.missing.clear()
    this.lines.clear()
    this.#doing.clear()
    this.#ready.clear()
    this.changed()
  }
}

export const store = new Store()
