/**
 * What every live socket gets alike: the units left of each live item, and the sales. Compared in rounds, serialised once for all sockets,
 * and published only when it has changed, so an item is published at most once per round however fast it sells. With many sockets the
 * rounds are further apart: publishing costs a write per socket, and the requests of the crowd need that time more.
 *
 * A new socket gets the current state. Where that is newer than what the others got, it is published in the next round, even if it has
 * changed back by then: after a round all sockets have got the same.
 */

import type { Clock } from '../../base/clock.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import { type Sale, saleState } from '../../domain/sale.ts'
import { textsLine } from '../../domain/texts.ts'
import type { Registry, StockView } from '../../flows/sell/live-item.ts'
import type { LiveMessage } from '../../wire/live-message.ts'
import { wireSale } from '../answers.ts'
import { WRITES_PER_MS_MAX } from './socket.ts'

export interface BoardContext {
  readonly registry: Registry
  readonly stock: StockView
  readonly clock: Clock
}

/** The message about one item or one sale, as it was last written. */
interface Entry {
  /** What the text depends on, as far as a change of it is worth publishing. */
  readonly key: string
  readonly text: string
  published: boolean
}

/** Four times a second at most. */
export const ROUND_EVERY_MS = 250

export class LiveBoard {
  readonly #context: BoardContext
  readonly #publish: (text: string) => void
  readonly #stock = new Map<ItemId, Entry>()
  readonly #sales = new Map<SaleId, Entry>()
  #publishedAtMs = Number.NEGATIVE_INFINITY

  /** @param publish sends a text to every socket */
  constructor(context: BoardContext, publish: (text: string) => void) {
    // Messages tell of every change, and nothing is refused by what a socket shows: the newest that is known, however old.
    const leftOf = (item: ItemId) => context.stock.leftOf(item, true)
    this.#context = { ...context, stock: { ...context.stock, leftOf } }
    this.#publish = publish
  }

  /** Publishes what has changed since the last round. */
  round(sockets: number): void {
    const nowMs = this.#context.clock.elapsed()
    if (sockets === 0 || nowMs - this.#publishedAtMs < sockets / WRITES_PER_MS_MAX) return
    this.#publishedAtMs = nowMs
    for (const entry of this.#renewAll()) {
      if (entry.published) continue
      entry.published = true
      this.#publish(entry.text)
    }
  }

  /** Everything, for a new socket. */
  current(): readonly string[] {
    return this.#renewAll().map(entry => entry.text)
  }

  saleChanged(sale: Sale): void {
    if (sale.state === 'draft') return
    if (!sale.items.some(item => this.#context.registry.has(item.id))) {
      this.#publish(JSON.stringify(this.#saleMessage(sale)))
      return
    }
    const entry = this.#renew(this.#sales, sale.id, this.#saleKey(sale), () => this.#saleMessage(sale))
    if (entry === undefined) return
    entry.published = true
    this.#publish(entry.text)
  }

  /** All entries, up to date: sales before stock. Those of items and sales that are not live any more are forgotten. */
  #renewAll(): readonly Entry[] {
    const { registry, stock } = this.#context
    const sales = new Map<SaleId, Sale>()
    for (const { sale } of registry.values()) sales.set(sale.id, sale)
    for (const id of this.#sales.keys()) if (!sales.has(id)) this.#sales.delete(id)
    for (const id of this.#stock.keys()) if (!registry.has(id)) this.#stock.delete(id)
    for (const sale of sales.values())
      this.#renew(this.#sales, sale.id, this.#saleKey(sale), () => this.#saleMessage(sale))
    for (const { sale, item } of registry.values()) {
      const left = stock.leftOf(item.id)
      if (left === undefined) continue
      this.#renew(this.#stock, item.id, String(left), () => ({ type: 'stock', sale: sale.id, item: item.id, left }))
    }
    return [...this.#sales.values(), ...this.#stock.values()]
  }

  /** Brings one entry up to date; undefined where it was. */
  #renew(entries: Map<string, Entry>, id: string, key: string, write: () => LiveMessage): Entry | undefined {
    if (entries.get(id)?.key === key) return undefined
    const entry = { key, text: JSON.stringify(write()), published: false }
    entries.set(id, entry)
    return entry
  }

  #saleMessage(sale: Sale): LiveMessage {
    return { type: 'sale', sale: wireSale(sale, this.#context.stock) }
  }

  /** What is left is published as stock, so only the state that follows from it counts here. */
  #saleKey(sale: Sale): string {
    const { stock } = this.#context
    const left = sale.items.reduce((sum, item) => sum + (stock.leftOf(item.id) ?? item.available), 0)
    const units = sale.items.map(item => item.units).join()
    const state = saleState(sale, stock.nowMs(), left)
    return [state, sale.name, textsLine(sale.texts), sale.opensAtMs, sale.closesAtMs, units].join('|')
  }
}
