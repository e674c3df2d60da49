/**
 * Snapshots of many items in one transaction: after the loss of a gate every item is read, and most have few orders. One statement locks the items that
 * are free and makes their epochs the ones that are placed (E5), a second one reads their attempts (E9); it is another statement because it must see what
 * was placed before the locks were granted.
 *
 * Guarantees: each item is read under its own lock. Pages are handed out after the commit, and the next transaction begins when all of them were taken:
 * what is read is bounded by one batch. What changes after the commit reaches the gate as it does after any snapshot: as releases and numbered changes.
 * Not read here, and left to a transaction of their own: an item that is locked, has several shards, another epoch, orders in the archive or many orders; and
 * one that is asked for alone.
 */

import { together } from '../../base/batching/together.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { SnapshotHolding } from '../rights.ts'
import type { Database, Row } from './connection/database.ts'
import { text } from './rows.ts'

/** Of one transaction. */
const ITEMS_MAX = 100
/** An item with more is read page by page. */
const ORDERS_MAX = 500

interface Ask {
  readonly item: ItemId
  readonly epoch: Epoch
  /** Takes what was read. */
  readonly onRead: (terms: Row, page: readonly SnapshotHolding[]) => Promise<void>
}

type Answer = { readonly isRead: boolean } | { readonly error: unknown }

/** @returns false: it was not read here. Rejects when it could not be taken, or the ledger does not answer. */
export function readSnapshotsTogether(
  database: Pick<Database, 'transaction'>,
  toHolding: (row: Row) => SnapshotHolding,
): (ask: Ask) => Promise<boolean> {
  async function readAll(asks: readonly Ask[]) {
    return database.transaction(async run => {
      const values = [asks.map(({ item }) => item), asks.map(({ epoch }) => epoch)]
      const terms = new Map((await run('snapshot_terms_if_free', values)).map(row => [text(row, 'id'), row]))
      const rows = terms.size === 0 ? [] : await run('snapshot_pages', [[...terms.keys()], ORDERS_MAX + 1])
      return { terms, pages: Map.groupBy(rows, row => text(row, 'item')) }
    })
  }

  const read = together<Ask, Answer>(ITEMS_MAX, async asks => {
    const byItem = new Map(asks.map(ask => [ask.item, ask]))
    if (byItem.size === 1) return asks.map(() => ({ isRead: false }))
    const { terms, pages } = await readAll([...byItem.values()])
    return Promise.all(
      asks.map(async (ask): Promise<Answer> => {
        const own = byItem.get(ask.item) === ask ? terms.get(ask.item) : undefined
        const rows = pages.get(ask.item) ?? []
        if (own === undefined || rows.length > ORDERS_MAX) return { isRead: false }
        try {
          await ask.onRead(own, rows.map(toHolding))
          return { isRead: true }
        } catch (error) {
          return { error }
        }
      }),
    )
  })

  return async ask => {
    const answer = await read(ask)
    if ('error' in answer) throw answer.error
    return answer.isRead
  }
}
