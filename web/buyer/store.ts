/**
 * Everything the page knows, in one place. Whoever changes something calls `changed`; whoever shows something subscribes. An order only
 * moves forward here: news that is older than what is known is dropped, whichever way it came.
 */

import type { Doing } from './button-state.ts'
import type { Order, Sale } from './shapes.ts'

export type Session =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'in'; readonly buyer: string }
  | { readonly kind: 'out' }

const NOTHING: Doing = { kind: 'nothing' }
const RANK = { reserved: 0, pending: 1, paid: 2, closed: 3 } as const

class Store {
  session: Session = { kind: 'unknown' }
  /** The device has a network. */
  online = navigator.onLine
  /** The last call got an answer. */
  reachable = true
  readonly sales = new Map<string, Sale>()
  /** Ids, as the server lists them; undefined until it has. */
  listed: readonly string[] | undefined
  /** Sales and orders that are not there, or not this buyer's. */
  readonly missing = new Set<string>()
  readonly orders = new Map<string, Order>()
  ordersLoaded = false
  /** The cursor for older orders; null at the end. */
  ordersNext: string | null = null
  /** Orders whose payment was begun here, and when (monotonic): the answer may come a moment after the buyer. */
  readonly paying = new Map<string, number>()
  /** When an item's stock, or a sale itself, was last heard of from elsewhere than a look at the sale (monotonic). */
  readonly #heardMs = new Map<string, number>()
  readonly #doing = new Map<string, Doing>()
  readonly #ready = new Set<string>()
  readonly #hear = new Set<() => void>()
  #told = false

  subscribe(hear: () => void): () => void {
    this.#hear.add(hear)
    return () => this.#hear.delete(hear)
  }

  /** Several changes in one turn are told once. */
  changed(): void {
    if (this.#told) return
    this.#told = true
    queueMicrotask(() => {
      this.#told = false
      for (const hear of this.#hear) hear()
    })
  }

  doing(item: string): Doing {
    return this.#doing.get(item) ?? NOTHING
  }

  setDoing(item: string, doing: Doing): void {
    this.#doing.set(item, doing)
    this.changed()
  }

  /** A ticket for this item is at hand. */
  ready(item: string): boolean {
    return this.#ready.has(item)
  }

  setReady(item: string, ready: boolean): void {
    if (ready) this.#ready.add(item)
    else this.#ready.delete(item)
    this.changed()
  }

  /** As an answer to a look showed it, which was sent at that moment: what was heard since is newer, whichever came first. */
  putLook(sale: Sale, sentMs: number): void {
    const known = this.sales.get(sale.id)
    const heardSince = (id: string) => (this.#heardMs.get(id) ?? Number.NEGATIVE_INFINITY) >= sentMs
    const items = sale.items.map(item => {
      const newer = heardSince(item.id) ? known?.items.find(one => one.id === item.id) : undefined
      return newer === undefined ? item : { ...item, left: newer.left }
    })
    const state = heardSince(sale.id) && known !== undefined ? known.state : sale.state
    this.putSale({ ...sale, state, items })
  }

  /** News of it. */
  hearSale(sale: Sale): void {
    for (const { id } of [sale, ...sale.items]) this.#heardMs.set(id, performance.now())
    this.putSale(sale)
  }

  putSale(sale: Sale): void {
    this.sales.set(sale.id, sale)
    this.missing.delete(sale.id)
    this.changed()
  }

  putLeft(saleId: string, item: string, left: number): void {
    const sale = this.sales.get(saleId)
    if (sale === undefined) return
    this.#heardMs.set(item, performance.now())
    this.putSale({ ...sale, items: sale.items.map(one => (one.id === item ? { ...one, left } : one)) })
  }

  putOrder(order: Order): void {
    const known = this.orders.get(order.id)
    if (known !== undefined && RANK[known.state] > RANK[order.state]) return
    if (this.session.kind === 'in' && order.buyer !== this.session.buyer) return
    this.orders.set(order.id, order)
    this.missing.delete(order.id)
    if (order.state === 'paid' || order.state === 'closed') this.paying.delete(order.id)
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

  /** Another buyer sits here now. */
  forgetBuyer(): void {
    this.orders.clear()
    this.ordersLoaded = false
    this.ordersNext = null
    this.paying.clear()
    this.missing.clear()
    this.#doing.clear()
    this.#ready.clear()
    this.changed()
  }
}

export const store = new Store()
