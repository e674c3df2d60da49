/** Orders in PostgreSQL. Each verb is one statement of `ledger/sql`, except the snapshot, which is one transaction. */

import { assert } from '../../base/assert.ts'
import { isBuyerId, isId } from '../../domain/ids.ts'
import { shardsFor } from '../../domain/shards.ts'
import type { Orders } from '../orders.ts'
import type { Database } from './database.ts'
import { arrayOf, askArrays, toDirectReply } from './place-replies.ts'
import { placeTogether } from './place-together.ts'
import { number, text, time, toOrder } from './rows.ts'

const SNAPSHOT_PAGE = 5_000
const INT_MAX = 2 ** 31 - 1

export function createOrders(database: Database): Orders {
  return {
    place: placeTogether(database),

    async placeDirectly(item, epoch, asks) {
      const [row] = await database.run('place_directly', [item, epoch, ...askArrays(asks)])
      assert(row !== undefined, 'place_directly answered no row')
      return toDirectReply(row, item, epoch, asks)
    },

    async refuse(item, epoch, { order, buyer, attempt, quantity, reservedAtMs }) {
      // Whatever is wrong with it must not be wrong with its refusal too: what no row can hold has none.
      if (!isId(order) || !isBuyerId(buyer)) return undefined
      const [row] = await database.run('refuse_order', [
        item,
        epoch,
        order,
        buyer,
        within(attempt, 1, INT_MAX),
        within(quantity, 1, INT_MAX),
        within(reservedAtMs, 0, 8.64e15),
      ])
      return row === undefined ? undefined : toOrder(row)
    },

    async raiseEpoch(item) {
      const [row] = await database.run('raise_epoch', [item])
      assert(row !== undefined, `item ${item} is not in the ledger`)
      return number(row, 'epoch')
    },

    async setDoor(item, epoch, door) {
      return (await database.run('set_door', [item, epoch, door])).length === 1
    },

    async openLedgerDoor(item, by) {
      return (await database.run('open_ledger_door', [item, by])).length === 1
    },

    snapshot: (item, epoch, onPage, spreading) =>
      database.transaction(async run => {
        const [terms] = await run('snapshot_terms', [item, epoch])
        if (terms === undefined) return undefined
        const available = number(terms, 'available')
        const shards = number(terms, 'shards')
        const placesUnknown = terms.places_known !== true
        const together = spreading === undefined || spreading.together || placesUnknown
        const gateShards = together ? 1 : shardsFor(available, shards)
        await run('spread_item', [item, gateShards])
        spreading?.begun(gateShards)
        let after = '0'
        let held = 0
        const buyers = new Set<string>()
        for (;;) {
          const rows = await run('snapshot_page', [item, after, SNAPSHOT_PAGE])
          const page = rows.map(row => ({
            order: text(row, 'id'),
            buyer: text(row, 'buyer'),
            attempt: number(row, 'attempt'),
            quantity: number(row, 'quantity'),
            live: row.live === true,
            reservedAtMs: time(row, 'reserved_at'),
          }))
          for (const holding of page) {
            buyers.add(holding.buyer)
            if (holding.live) held += holding.quantity
          }
          if (page.length > 0) await onPage(page)
          const last = page.at(-1)
          if (last === undefined || page.length < SNAPSHOT_PAGE) break
          after = last.order
        }
        const state = text(terms, 'state')
        return {
          available,
          held,
          buyers: buyers.size,
          attemptsMax: number(terms, 'attempts_max'),
          changeNo: number(terms, 'change_no'),
          opensAtMs: time(terms, 'opens_at'),
          closesAtMs: time(terms, 'closes_at'),
          stateNo: number(terms, 'word_no'),
          state: state === 'ready' ? 'open' : state === 'paused' ? 'paused' : 'over',
          gateShards,
          placesUnknown,
        }
      }),

    async find(ids) {
      return (await database.run('find_orders', [ids])).map(toOrder)
    },
    async findByAttempt(item, buyer, attempt) {
      const [row] = await database.run('find_order_by_attempt', [item, buyer, attempt])
      return row === undefined ? undefined : toOrder(row)
    },
    async findByAttempts(keys) {
      const rows = await database.run('find_orders_by_attempt', [
        arrayOf(keys.map(key => key.item)),
        keys.map(key => key.buyer),
        arrayOf(keys.map(key => key.attempt)),
      ])
      return rows.map(toOrder)
    },
    async ofBuyer(buyer, after, limit) {
      return (await database.run('orders_of_buyer', [buyer, after ?? null, limit])).map(toOrder)
    },
    async list({ sale, state, buyer, after, limit }) {
      return (await database.run('orders_of_sale', [sale, state ?? null, buyer ?? null, after ?? null, limit])).map(
        toOrder,
      )
    },
    async audit(sale) {
      return (await database.run('audit', [sale])).map(row => ({
        item: text(row, 'item'),
        units: number(row, 'units'),
        available: number(row, 'available'),
        pending: number(row, 'pending'),
        paid: number(row, 'paid'),
        closed: number(row, 'closed'),
        releases: number(row, 'releases'),
        gone: number(row, 'gone'),
        moving: number(row, 'moving'),
        oldestReleaseMs: row.oldest_release_ms === null ? undefined : number(row, 'oldest_release_ms'),
        door: text(row, 'door') as 'gate',
        epoch: number(row, 'epoch'),
        gateEpoch: number(row, 'gate_epoch'),
      }))
    },
  }
}

/** The nearest whole number in the range; the lowest for what is no number at all. */
function within(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(most, Math.max(least, Math.trunc(value))) : least
}
