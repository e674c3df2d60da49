/** Orders in PostgreSQL. */

import { isBuyerId, isId } from '../../domain/ids.ts'
import type { Orders } from '../orders.ts'
import type { Database } from './connection/database.ts'
import { arrayOf, askArrays, toDirectReply } from './place-replies.ts'
import { placeTogether } from './place-together.ts'
import { queries, toOrder } from './rows.ts'

const INT_MAX = 2 ** 31 - 1

export function createOrders(database: Database): Orders {
  const { all, first, one } = queries(database)
  return {
    place: placeTogether(database),
    placeDirectly: (item, epoch, asks) =>
      one('place_directly', [item, epoch, ...askArrays(asks)], row => toDirectReply(row, item, epoch, asks)),
    async refuse(item, epoch, { order, buyer, attempt, quantity, reservedAtMs }) {
      // Its faults must not prevent its refusal: figures are brought into range, and ids that no row can hold get no row.
      if (!isId(order) || !isBuyerId(buyer)) return undefined
      const figures = [within(attempt, 1, INT_MAX), within(quantity, 1, INT_MAX), within(reservedAtMs, 0, 8.64e15)]
      return first('refuse_order', [item, epoch, order, buyer, ...figures], toOrder)
    },
    find: ids => all('find_orders', [ids], toOrder),
    ofBuyers: keys =>
      all('orders_of_buyers', [arrayOf(keys.map(key => key.item)), keys.map(key => key.buyer)], toOrder),
    ofBuyer: (buyer, after, limit) => all('orders_of_buyer', [buyer, after ?? null, limit], toOrder),
    list: ({ sale, state = null, buyer = null, after = null, limit }) =>
      all('orders_of_sale', [sale, state, buyer, after, limit], toOrder),
  }
}

/** The nearest whole number in the range; the lowest for NaN and infinity. */
function within(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(most, Math.max(least, Math.trunc(value))) : least
}
