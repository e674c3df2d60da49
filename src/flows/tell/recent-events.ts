/**
 * Events as the sender of webhooks reads them: several endpoints that are at the same place share one read, and an event that is sent again a moment
 * later is still here. Holds a bounded number of events, and uses none that was read longer than FRESH_MS ago: a buyer may have been erased since.
 */

import type { Clock } from '../../base/clock.ts'
import type { ShopEvent } from '../../domain/shop-event.ts'
import type { EventLog, EventPage } from '../../ledger/events.ts'

const EVENTS_MAX = 2_000
/** A single event is read with those behind it: they are likely to be sent next. */
const AROUND = 50
const FRESH_MS = 5_000

interface Known {
  readonly event: ShopEvent
  readonly readMs: number
}

export class RecentEvents {
  readonly #log: Pick<EventLog, 'read'>
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #known = new Map<number, Known>()
  #last:
    | { readonly after: number; readonly limit: number; readonly page: EventPage; readonly readMs: number }
    | undefined

  constructor(log: Pick<EventLog, 'read'>, clock: Pick<Clock, 'elapsed'>) {
    this.#log = log
    this.#clock = clock
  }

  /** A page that was full is the same when it is read again. */
  async read(after: number, limit: number): Promise<EventPage> {
    const last = this.#last
    if (last?.after === after && last.limit === limit && this.#isFresh(last)) return last.page
    const readMs = this.#clock.elapsed()
    const page = await this.#log.read(after, limit)
    if (!page.expired && page.last === after + limit) this.#last = { after, limit, page, readMs }
    for (const event of page.events) this.#keep({ event, readMs })
    return page
  }

  /** Undefined: it was deleted. */
  async find(number: number): Promise<ShopEvent | undefined> {
    const known = this.#known.get(number)
    if (known !== undefined && this.#isFresh(known)) return known.event
    this.#known.delete(number)
    const readMs = this.#clock.elapsed()
    const { events } = await this.#log.read(number - 1, AROUND)
    for (const event of events) this.#keep({ event, readMs })
    return events.find(event => event.number === number)
  }

  #isFresh({ readMs }: { readonly readMs: number }): boolean {
    return this.#clock.elapsed() - readMs < FRESH_MS
  }

  #keep(known: Known): void {
    const { number } = known.event
    this.#known.delete(number)
    this.#known.set(number, known)
    if (this.#known.size > EVENTS_MAX) this.#known.delete(this.#known.keys().next().value!)
  }
}
