/**
 * Events as the sender of webhooks reads them: several endpoints that are at the same place share one read, and an event that is sent again a moment
 * later is still here. Holds a bounded number of events.
 */

import type { ShopEvent } from '../../domain/shop-event.ts'
import type { EventLog, EventPage } from '../../ledger/events.ts'

const EVENTS_MAX = 2_000
/** A single event is read with those behind it: they are likely to be sent next. */
const AROUND = 50

export class RecentEvents {
  readonly #log: Pick<EventLog, 'read'>
  readonly #known = new Map<number, ShopEvent>()
  #last: { readonly after: number; readonly limit: number; readonly page: EventPage } | undefined

  constructor(log: Pick<EventLog, 'read'>) {
    this.#log = log
  }

  /** A page that was full is the same when it is read again. */
  async read(after: number, limit: number): Promise<EventPage> {
    if (this.#last?.after === after && this.#last.limit === limit) return this.#last.page
    const page = await this.#log.read(after, limit)
    if (!page.expired && page.last === after + limit) this.#last = { after, limit, page }
    for (const event of page.events) this.#keep(event)
    return page
  }

  /** Undefined: it was deleted. */
  async find(number: number): Promise<ShopEvent | undefined> {
    if (!this.#known.has(number)) {
      const { events } = await this.#log.read(number - 1, AROUND)
      for (const event of events) this.#keep(event)
    }
    return this.#known.get(number)
  }

  #keep(event: ShopEvent): void {
    this.#known.delete(event.number)
    this.#known.set(event.number, event)
    if (this.#known.size > EVENTS_MAX) this.#known.delete(this.#known.keys().next().value!)
  }
}
