/**
 * All orders of a sale in the order of their ids, page by page, for an export. The orders of each item are read by a cursor of their own and
 * merged: a page of the whole sale would read a page of every item and give most of it away.
 * Holds some thousand orders at most, however many there are. An order that is placed meanwhile is in it if it comes behind those given out.
 */

import type { ItemId, OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { OrderQuery, Orders } from '../../ledger/orders.ts'

/** The orders of one item that were read and not given out: `rows` from `at` on. */
interface Cursor {
  readonly item: ItemId
  rows: readonly Order[]
  at: number
  after: OrderId | undefined
  ended: boolean
}

/** Of all items together. Each statement stays short, so that placing does not wait for it. */
const HELD_MAX = 4_000
const READ_MAX = 400
const READ_MIN = 40

/** Each call returns the next page; an empty one is the end. */
export function createOrderPages(
  ofItem: Orders['ofItem'],
  items: readonly ItemId[],
  { state, after }: Pick<OrderQuery, 'state' | 'after'>,
): () => Promise<readonly Order[]> {
  const limit = Math.min(READ_MAX, Math.max(READ_MIN, Math.floor(HELD_MAX / items.length)))
  let cursors: readonly Cursor[] = items.map(item => ({ item, rows: [], at: 0, after, ended: false }))

  async function fill(cursor: Cursor): Promise<void> {
    const from = cursor.after
    const query = { limit, ...(state !== undefined && { state }), ...(from !== undefined && { after: from }) }
    cursor.rows = await ofItem(cursor.item, query)
    cursor.at = 0
    cursor.after = cursor.rows.at(-1)?.id ?? from
    cursor.ended = cursor.rows.length < limit
  }

  return async () => {
    for (const cursor of cursors) if (cursor.at === cursor.rows.length && !cursor.ended) await fill(cursor)
    cursors = cursors.filter(({ at, rows }) => at < rows.length)
    const page: Order[] = []
    while (page.length < READ_MAX && cursors.length > 0) {
      const first = cursors.reduce((one, other) => (isBefore(headOf(other), headOf(one)) ? other : one))
      page.push(headOf(first))
      first.at += 1
      // What comes next of this item is not known before it is read.
      if (first.at === first.rows.length) {
        if (!first.ended) break
        cursors = cursors.filter(cursor => cursor !== first)
      }
    }
    return page
  }
}

const headOf = ({ rows, at }: Cursor): Order => rows[at]!

/** Ids are decimal numbers without leading zeros. */
function isBefore({ id: one }: Order, { id: other }: Order): boolean {
  return one.length === other.length ? one < other : one.length < other.length
}
