/** Orders in PostgreSQL. Each verb is one statement of `ledger/sql`, except the snapshot, which is one transaction. */

import { assert, unreachable } from '../../base/assert.ts'
import type { Order } from '../../domain/order.ts'
import type { Orders, PlaceAsk, PlaceReply, Placing } from '../orders.ts'
import type { Database, Row } from './database.ts'
import { number, text, time, toOrder } from './rows.ts'

const SNAPSHOT_PAGE = 5_000

export function createOrders(database: Database): Orders {
  return {
    async place(item, epoch, acknowledged, asks) {
      const [row] = await database.run('place', [
        item,
        epoch,
        acknowledged,
        arrayOf(asks.map(ask => ask.order)),
        asks.map(ask => ask.buyer),
        arrayOf(asks.map(ask => ask.attempt)),
        arrayOf(asks.map(ask => ask.quantity)),
        arrayOf(asks.map(ask => Math.trunc(ask.reservedAtMs))),
      ])
      assert(row !== undefined, 'place answered no row')
      return toPlaceReply(row, item, epoch, asks)
    },

    async bump(item) {
      const [row] = await database.run('bump', [item])
      assert(row !== undefined, `item ${item} is not in the ledger`)
      return number(row, 'epoch')
    },

    async turn(item, epoch, door) {
      return (await database.run('turn', [item, epoch, door])).length === 1
    },

    snapshot: (item, epoch, onPage) =>
      database.transaction(async run => {
        const [terms] = await run('snapshot_terms', [item, epoch])
        if (terms === undefined) return undefined
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
          available: number(terms, 'available'),
          held,
          buyers: buyers.size,
          attemptsMax: number(terms, 'attempts_max'),
          changeNo: number(terms, 'change_no'),
          opensAtMs: time(terms, 'opens_at'),
          closesAtMs: time(terms, 'closes_at'),
          state: state === 'ready' ? 'open' : state === 'paused' ? 'paused' : 'over',
        }
      }),

    async find(ids) {
      return (await database.run('find_orders', [ids])).map(toOrder)
    },
    async findByAttempt(item, buyer, attempt) {
      const [row] = await database.run('find_order_by_attempt', [item, buyer, attempt])
      return row === undefined ? undefined : toOrder(row)
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
        oldestReleaseMs: row.oldest_release_ms === null ? undefined : number(row, 'oldest_release_ms'),
        door: text(row, 'door') as 'gate',
        epoch: number(row, 'epoch'),
        gateEpoch: number(row, 'gate_epoch'),
      }))
    },
  }
}

/** PostgreSQL's array literal for ids and numbers, which need no quoting: the driver would quote every one. */
function arrayOf(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`
}

interface Oddity {
  readonly i: number
  readonly verdict: 'same' | 'refused' | 'foreign'
  readonly order?: Row
}

/** Most of a batch is simply placed and shares its times and price; only the odd ones come back as rows. */
function toPlaceReply(row: Row, item: string, epoch: number, asks: readonly PlaceAsk[]): PlaceReply {
  const status = text(row, 'status') as 'ok' | 'stale' | 'no_item'
  switch (status) {
    case 'stale':
      return { status: 'stale' }
    case 'no_item':
      assert(false, `item ${item} is not in the ledger`)
      break
    case 'ok':
      break
    default:
      unreachable(status)
  }
  const sale = text(row, 'sale')
  const price = { amount: number(row, 'price_minor'), currency: text(row, 'currency') }
  const placedAtMs = time(row, 'placed_at')
  const payByMs = time(row, 'pay_by')
  const odd = new Map(((row.odd ?? []) as Oddity[]).map(oddity => [oddity.i, oddity]))
  const placings = asks.map((ask, i): Placing => {
    const oddity = odd.size === 0 ? undefined : odd.get(i)
    if (oddity === undefined) return { verdict: 'placed', order: placedOrder(ask) }
    if (oddity.verdict === 'foreign') return { verdict: 'foreign' }
    assert(oddity.order !== undefined, 'an odd placing without its order')
    const order = toOrder({ ...oddity.order, item, sale })
    assert(order.id === ask.order && order.buyer === ask.buyer, `asked for order ${ask.order}, was given ${order.id}`)
    return { verdict: oddity.verdict, order }
  })
  return { status: 'ok', available: number(row, 'available'), placings }

  function placedOrder(ask: PlaceAsk): Order {
    return {
      id: ask.order,
      sale,
      item,
      buyer: ask.buyer,
      attempt: ask.attempt,
      quantity: ask.quantity,
      price,
      state: 'pending',
      reason: undefined,
      supersededBy: undefined,
      epoch,
      reservedAtMs: ask.reservedAtMs,
      placedAtMs,
      payByMs,
      paidAtMs: undefined,
      closedAtMs: undefined,
      version: 1,
    }
  }
}
