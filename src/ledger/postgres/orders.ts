/** Orders in PostgreSQL. */

import { isBuyerId, isId } from '../../domain/ids.ts'
import type { Orders } from '../orders.ts'
import type { Database } from './connection/database.ts'
import { arrayOf, askArrays, toDirectReply } from './place-replies.ts'
import { placeTogether } from './place-together.ts'
import { only, toOrder } from './rows.ts'

const INT_MAX = 2 ** 31 - 1

export function createOrders(database: Database): Orders {
  return {
    place: placeTogether(database),

    async placeDirectly(item, epoch, asks) {
      const row = only(await database.run('place_directly', [item, epoch, ...askArrays(asks)]))
      return toDirectReply(row, item, epoch, asks)
    },

    async refuse(item, epoch, { order, buyer, attempt, quantity, reservedAtMs }) {
      // Its faults must not prevent its refusal: figures are brought into range, and ids that no row can hold get no row.
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

    async find(ids) {
      return (await database.run('find_orders', [ids])).map(toOrder)
    },
    async ofBuyers(keys) {
      const params = [arrayOf(keys.map(key => key.item)), keys.map(key => key.buyer)]
      return (await database.run('orders_of_buyers', params)).map(toOrder)
    },
    async ofBuyer(buyer, after, limit) {
      return (await database.run('orders_of_buyer', [buyer, after ?? null, limit])).map(toOrder)
    },
    async list({ sale, state, buyer, after, limit }) {
      return (await database.run('orders_of_sale', [sale, state ?? null, buyer ?? null, after ?? null, limit])).map(
        toOrder,
      )
    },
  }
}

/** The nearest whole number in the range; the lowest for NaN and infinity. */
function within(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(most, Math.max(least, Math.trunc(value))) : least
}
