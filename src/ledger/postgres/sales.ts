/** Sales in PostgreSQL. */

import { assert } from '../../base/assert.ts'
import { together } from '../../base/batching/together.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale, StoredSaleState } from '../../domain/sale.ts'
import type { Sales, SaleWindow, SaleWrite } from '../sales.ts'
import type { Database, Row } from './connection/database.ts'
import { FollowedSales } from './followed-sales.ts'
import { number, queries, text, time, toSales } from './rows.ts'

/** Sales of one statement. */
const STATES_MAX = 500

export function createSales(database: Database): Sales {
  const { all, did, act } = queries(database)
  const followed = new FollowedSales((name, values) => database.run(name, values))
  const state = together<SaleId, SaleWindow | undefined>(STATES_MAX, async ids => {
    const rows = await all('sale_states', [[...new Set(ids)]], row => [text(row, 'id'), toWindow(row)] as const)
    const found = new Map(rows)
    return ids.map(id => found.get(id))
  })
  async function described(listed: readonly Sale[]): Promise<readonly Sale[]> {
    const texts = new Map(await all('item_descriptions', [listed.map(({ id }) => id)], toDescription))
    const withText = (item: Item) => ({ ...item, description: texts.get(item.id) })
    return listed.map(sale => ({ ...sale, items: sale.items.map(withText) }))
  }

  return {
    create: (sale, by) => act('create_sale', [...valuesOf(sale, 'replaced', by), textsOf(sale)]),
    find: async id => toSales(await database.run('find_sale', [id]))[0],
    state,
    async list({ drafts, limit, descriptions = false }) {
      const listed = toSales(await database.run('list_sales', [drafts, limit]))
      return descriptions ? described(listed) : listed
    },
    followed: () => followed.read(),
    available: async items =>
      new Map(await all('available_units', [items], row => [text(row, 'id'), number(row, 'available')] as const)),
    move: (id, from, to, by, action) => did('move_sale', [id, from, to, by, action]),
    warmNow: (id, by) => act('warm_sale_now', [id, by]),
    edit(id, by, decide) {
      return database.transaction(async run => {
        if ((await run('lock_sale', [id])).length === 0) return undefined
        // Read after the lock was granted: the sale may have changed while this waited for it.
        const [sale] = toSales(await run('find_sale', [id]))
        const [clock] = await run('now', [])
        assert(sale !== undefined && clock !== undefined, `sale ${id} is locked and can't be found`)
        const { write, result } = decide(sale, time(clock, 'now'))
        if (write === undefined) return result
        assert(write.sale.id === id, `the edit of sale ${id} came back as ${write.sale.id}`)
        assert(
          write.items !== 'replaced' || sale.state === 'draft',
          `sale ${id} is not a draft: its items can't be replaced`,
        )
        if (write.items === 'replaced') await run('clear_draft', [id])
        const { changes } = write
        await run('edit_sale', [
          ...valuesOf(write.sale, write.items, by),
          JSON.stringify({ changes }),
          textsOf(write.sale),
        ])
        return result
      })
    },
    remove: (id, by) => did('delete_sale', [id, by]),
  }
}

/**
 * Whether anything about sales was changed since the read that gave this mark. A hint that saves reading them all: a server that was replaced
 * has marks of its own, so its reader reads everything now and then.
 */
export function createSaleChanges(database: Database) {
  const { first } = queries(database)
  return {
    async since(mark: string | undefined): Promise<{ readonly mark: string; readonly changed: boolean }> {
      const read = await first('sales_changed_since', [mark ?? null], row => ({
        mark: text(row, 'mark'),
        changed: row.changed === true,
      }))
      assert(read !== undefined, 'the ledger has no snapshot')
      return read
    },
  }
}

/** The catalog declares the contract, app wires it. */
export function createSaleLookup(database: Database) {
  return { findAll: async (ids: readonly SaleId[]) => toSales(await database.run('find_sales', [ids])) }
}

/** The first values of `create_sale` and `edit_sale`. */
function valuesOf(sale: Sale, items: SaleWrite['items'], by: string): unknown[] {
  const {
    id,
    name,
    opensAtMs,
    closesAtMs,
    warmBeforeMs,
    rule,
    ticketsBeforeMs,
    challenge,
    paymentProviders,
    holds,
    line,
    template,
    unlisted,
    contactFields,
  } = sale
  const terms = JSON.stringify({
    ticketsBeforeMs,
    challenge,
    paymentProviders,
    holds,
    line,
    template,
    unlisted,
    contactFields,
  })
  const written = sale.items.map(itemColumns).filter(item => items === 'replaced' || items.has(item.id))
  return [id, name, opensAtMs, closesAtMs, warmBeforeMs, rule, terms, JSON.stringify(written), by]
}

/** In JSON. Without a text: `{}`. */
function textsOf({ texts, items }: Sale): string {
  const ofItems = items.flatMap(item => (item.texts === undefined ? [] : [[item.id, item.texts]]))
  return JSON.stringify({ sale: texts, items: ofItems.length === 0 ? undefined : Object.fromEntries(ofItems) })
}

/** An item as the columns that both write, in JSON: ids as strings. */
function itemColumns(item: Item, position: number) {
  return {
    id: item.id,
    position,
    sku: item.sku ?? null,
    name: item.name,
    description: item.description ?? null,
    image: item.image ?? null,
    price_minor: item.price.amount,
    list_price_minor: item.listPrice?.amount ?? null,
    currency: item.price.currency,
    units: item.units,
    quantity_max: item.quantityMax,
    attempts_max: item.attemptsMax,
    pay_within_ms: item.payWithinMs,
    when_gate_down: item.whenGateDown,
    home_door: item.homeDoor,
    shards: item.shards,
  }
}

function toDescription(row: Row): readonly [ItemId, string] {
  return [text(row, 'item'), text(row, 'description')]
}

function toWindow(row: Row): SaleWindow {
  return {
    state: text(row, 'state') as StoredSaleState,
    stateNo: number(row, 'word_no'),
    opensAtMs: time(row, 'opens_at'),
    closesAtMs: time(row, 'closes_at'),
  }
}
