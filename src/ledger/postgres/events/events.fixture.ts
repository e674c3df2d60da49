/** What the tests of the events share: a cursor over all of them, and items of which is known what was told before. */

import { expect } from 'bun:test'
import type { ItemWish, TestLedger } from '../../../../test/harness/money-ledger.ts'
import type { ShopEvent } from '../../../domain/shop-event.ts'

const PAGE = 500

export function readerOf(ledger: TestLedger) {
  async function numberAll(): Promise<number> {
    for (;;) {
      const { newest, more } = await ledger.events.number(100)
      if (!more) return newest
    }
  }

  /** All events behind a number, read in pages of this size. */
  async function readAll(after: number, limit = PAGE): Promise<ShopEvent[]> {
    const events: ShopEvent[] = []
    for (let last = after; ; ) {
      const page = await ledger.events.read(last, limit)
      expect(page.expired).toBe(false)
      events.push(...page.events)
      if (page.last === last) return events
      last = page.last
    }
  }

  return {
    numberAll,
    readAll,
    /** What was told of an item or a sale since a number: the type, and the order's id. */
    async told(since: number, of: { readonly item: string; readonly sale: string }): Promise<string[]> {
      await numberAll()
      const events = (await readAll(since)).filter(
        event => itemOf(event) === of.item || ('name' in event && event.sale === of.sale),
      )
      return events.map(event => ('order' in event ? `${event.type} ${event.order.id}` : event.type))
    },
    async selling(wish: ItemWish = {}) {
      const since = await numberAll()
      return { since, ...(await ledger.openItem(wish)) }
    },
  }
}

function itemOf(event: ShopEvent): string | undefined {
  if ('order' in event) return event.order.item
  if ('payment' in event) return event.payment.item
  return 'item' in event ? event.item : undefined
}
