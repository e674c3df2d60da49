/**
 * The item's rights in PostgreSQL. Each verb is one statement of `ledger/sql`, except the snapshot, which is one transaction. Of the calls
 * that raise the epoch of an item which another transaction has locked, only a few wait at once: however many items are locked, there are
 * connections left for the others.
 */

import { assert } from '../../base/assert.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Door } from '../../domain/item.ts'
import { shardsFor } from '../../domain/shards.ts'
import type { Rights, SnapshotHolding } from '../rights.ts'
import type { Database, Row } from './connection/database.ts'
import { columns, number, queries, text, time } from './rows.ts'

const SNAPSHOT_PAGE = 5_000
/** Three times, because a statement is tried three times: longer than the server lets an abandoned session keep the lock. */
const LOCK_WAIT_MS = 2_500
const WAITING_AT_ONCE_MAX = 3
const RECALL_PAGE = 5_000

export function createRights(database: Database): Rights {
  const { all, first, one, did } = queries(database)
  const waiting = createSemaphore(WAITING_AT_ONCE_MAX)
  const epochOf = (row: Row) => number(row, 'epoch')
  const rights: Rights = {
    read: item =>
      first('item_rights', [item], row => ({ epoch: number(row, 'epoch'), door: text(row, 'door') as Door })),
    async raiseEpoch(item) {
      const epoch =
        (await first('raise_epoch_if_free', [item], epochOf)) ??
        (await waiting.run(() => first('raise_epoch', [item, String(LOCK_WAIT_MS)], epochOf)))
      assert(epoch !== undefined, `item ${item} is not in the ledger`)
      return epoch
    },
    setDoor: (item, epoch, door) => did('set_door', [item, epoch, door]),
    setForgotten: (item, epoch) => did('set_forgotten', [item, epoch]),
    openLedgerDoor: (item, by) => did('open_ledger_door', [item, by]),
    shutIdle: liveItems => all('shut_idle_items', [liveItems], row => text(row, 'id')),
    snapshot: (item, epoch, onPage, compact = false, begun) =>
      database.transaction(async run => {
        const [terms] = await run('snapshot_terms', [item, epoch])
        if (terms === undefined) return undefined
        const available = number(terms, 'available')
        const shards = number(terms, 'shards')
        const wanted = compact || begun === undefined ? 1 : shards
        const olderVersions = wanted > 1 && terms.places_known !== true
        const gateShards = olderVersions ? 1 : shardsFor(available, wanted)
        await run('spread_item', [item, gateShards])
        begun?.({ shards, gateShards })
        let held = 0
        const buyers = new Set<string>()
        for (let after: string | undefined = '0'; after !== undefined; ) {
          const page: SnapshotHolding[] = (await run('snapshot_page', [item, after, SNAPSHOT_PAGE])).map(toHolding)
          for (const holding of page) {
            buyers.add(holding.buyer)
            if (holding.live) held += holding.quantity
          }
          if (page.length > 0) await onPage(page)
          after = page.length < SNAPSHOT_PAGE ? undefined : page.at(-1)?.order
        }
        const state = text(terms, 'state')
        return {
          available,
          held,
          buyers: buyers.size,
          ...columns(terms, number, 'attempts_max', 'change_no'),
          opensAtMs: time(terms, 'opens_at'),
          closesAtMs: time(terms, 'closes_at'),
          stateNo: number(terms, 'word_no'),
          state: state === 'ready' ? 'open' : state === 'paused' ? 'paused' : 'over',
          gateShards,
          olderVersions,
        }
      }),
    now: () => one('now', [], row => time(row, 'now')),
  }

  /**
   * An item that is sold has all its orders where the unique keys are. Only where a clock was wrong is one with archived orders to be sold again.
   * False: nothing of it was in the archive.
   */
  async function bringBack(item: ItemId): Promise<boolean> {
    let was = false
    while (await one('recall_item', [item, RECALL_PAGE], row => row.was === true)) was = true
    return was
  }

  return {
    ...rights,
    setDoor: async (item, epoch, door) =>
      (await rights.setDoor(item, epoch, door)) ||
      (door === 'ledger' && (await bringBack(item)) && (await rights.setDoor(item, epoch, door))),
    snapshot: async (item, ...terms) =>
      (await rights.snapshot(item, ...terms)) ??
      ((await bringBack(item)) ? rights.snapshot(item, ...terms) : undefined),
  }
}

function toHolding(row: Row): SnapshotHolding {
  return {
    order: text(row, 'id'),
    buyer: text(row, 'buyer'),
    attempt: number(row, 'attempt'),
    quantity: number(row, 'quantity'),
    live: row.live === true,
    reservedAtMs: time(row, 'reserved_at'),
  }
}
