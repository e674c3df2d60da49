/**
 * The item's rights in PostgreSQL. Each verb is one statement of `ledger/sql`, except the snapshot, which is one transaction, of the item alone or
 * of many (`snapshots-together.ts`). What is asked for
 * many items at the same time is one statement for all of them that are free: after the loss of a gate thousands of epochs are raised. Of the
 * calls for an item which another transaction has locked, only a few wait at once: however many items are locked, there are connections left for
 * the others.
 */

import { assert } from '../../base/assert.ts'
import { together } from '../../base/batching/together.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Door, Item } from '../../domain/item.ts'
import { shardsFor } from '../../domain/shards.ts'
import type { Rights, SnapshotHolding, SnapshotTerms } from '../rights.ts'
import type { Database, Row } from './connection/database.ts'
import { columns, number, queries, text, time } from './rows.ts'
import { readSnapshotsTogether } from './snapshots-together.ts'

const SNAPSHOT_PAGE = 5_000
/** Three times, because a statement is tried three times: longer than the server lets an abandoned session keep the lock. */
const LOCK_WAIT_MS = 2_500
const WAITING_AT_ONCE_MAX = 3
/** Items of one statement. */
const TOGETHER_MAX = 500
const RECALL_PAGE = 5_000
/** Those that have a transaction of their own: each has a connection, for as long as the gate loads. */
const SNAPSHOTS_AT_ONCE_MAX = 4

export function createRights(database: Database): Rights {
  const { all, first, one, did } = queries(database)
  const waiting = createSemaphore(WAITING_AT_ONCE_MAX)
  const reading = createSemaphore(SNAPSHOTS_AT_ONCE_MAX)
  const epochOf = (row: Row) => number(row, 'epoch')
  const read = together<ItemId, Pick<Item, 'epoch' | 'door'> | undefined>(TOGETHER_MAX, async items => {
    const rows = await all('items_rights', [items], row => [text(row, 'id'), row] as const)
    const found = new Map(rows.map(([id, row]) => [id, { epoch: epochOf(row), door: text(row, 'door') as Door }]))
    return items.map(item => found.get(item))
  })
  /** Undefined: the item is locked. Each caller gets an epoch of its own (E3): the second of two for one item gets none here. */
  const raise = together<ItemId, Epoch | undefined>(TOGETHER_MAX, async items => {
    const rows = await all('raise_epochs_if_free', [items], row => [text(row, 'id'), epochOf(row)] as const)
    return oncePerItem(items, new Map(rows))
  })
  const setDoor = together<{ readonly item: ItemId; readonly epoch: Epoch; readonly door: Door }, boolean>(
    TOGETHER_MAX,
    async asks => {
      const byItem = new Map(asks.map(ask => [ask.item, ask]))
      const own = [...byItem.values()]
      const values = [own.map(({ item }) => item), own.map(({ epoch }) => epoch), own.map(({ door }) => door)]
      const done = new Set(await all('set_doors_if_free', values, row => text(row, 'id')))
      return asks.map(ask => byItem.get(ask.item) === ask && done.has(ask.item))
    },
  )
  const readTogether = readSnapshotsTogether(database, toHolding)
  const snapshotAlone: Rights['snapshot'] = (item, epoch, onPage, compact = false, begun) =>
    database.transaction(async run => {
      const [terms] = await run('snapshot_terms', [item, epoch])
      if (terms === undefined) return undefined
      const shards = number(terms, 'shards')
      const wanted = compact || begun === undefined ? 1 : shards
      const olderVersions = wanted > 1 && terms.places_known !== true
      const gateShards = olderVersions ? 1 : shardsFor(number(terms, 'available'), wanted)
      await run('spread_item', [item, gateShards])
      begun?.({ shards, gateShards })
      let held = 0
      const buyers = new Set<string>()
      for (let after: string | undefined = '0'; after !== undefined; ) {
        const page: SnapshotHolding[] = (await run('snapshot_page', [item, after, SNAPSHOT_PAGE])).map(toHolding)
        held += heldIn(page)
        for (const { buyer } of page) buyers.add(buyer)
        if (page.length > 0) await onPage(page)
        after = page.length < SNAPSHOT_PAGE ? undefined : page.at(-1)?.order
      }
      return termsOf(terms, { held, buyers: buyers.size, gateShards, olderVersions })
    })

  const rights: Rights = {
    read,
    async raiseEpoch(item) {
      const epoch =
        (await raise(item)) ?? (await waiting.run(() => first('raise_epoch', [item, String(LOCK_WAIT_MS)], epochOf)))
      assert(epoch !== undefined, `item ${item} is not in the ledger`)
      return epoch
    },
    // Not set together with others: the epoch was raised, or the item is locked. Alone it is told.
    setDoor: async (item, epoch, door) =>
      (await setDoor({ item, epoch, door })) || did('set_door', [item, epoch, door]),
    setForgotten: (item, epoch) => did('set_forgotten', [item, epoch]),
    openLedgerDoor: (item, by) => did('open_ledger_door', [item, by]),
    shutIdle: liveItems => all('shut_idle_items', [liveItems], row => text(row, 'id')),
    snapshot: async (item, epoch, onPage, compact, begun) => {
      let terms: SnapshotTerms | undefined
      const isRead = await readTogether({
        item,
        epoch,
        async onRead(row, page) {
          begun?.({ shards: 1, gateShards: 1 })
          if (page.length > 0) await onPage(page)
          terms = termsOf(row, { gateShards: 1, olderVersions: false, ...sumsOf(page) })
        },
      })
      return isRead ? terms : reading.run(() => snapshotAlone(item, epoch, onPage, compact, begun))
    },
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

/** In the order of the items; of one that comes twice, the first gets it. */
function oncePerItem<T>(items: readonly ItemId[], found: Map<ItemId, T>): readonly (T | undefined)[] {
  return items.map(item => {
    const one = found.get(item)
    found.delete(item)
    return one
  })
}

function heldIn(page: readonly SnapshotHolding[]): number {
  return page.reduce((sum, { live, quantity }) => sum + (live ? quantity : 0), 0)
}

/** Of an item whose attempts are all on this page. */
function sumsOf(page: readonly SnapshotHolding[]): Pick<SnapshotTerms, 'held' | 'buyers'> {
  return { held: heldIn(page), buyers: new Set(page.map(({ buyer }) => buyer)).size }
}

function termsOf(
  row: Row,
  rest: Pick<SnapshotTerms, 'held' | 'buyers' | 'gateShards' | 'olderVersions'>,
): SnapshotTerms {
  const state = text(row, 'state')
  return {
    ...columns(row, number, 'available', 'attempts_max', 'change_no'),
    opensAtMs: time(row, 'opens_at'),
    closesAtMs: time(row, 'closes_at'),
    stateNo: number(row, 'word_no'),
    state: state === 'ready' ? 'open' : state === 'paused' ? 'paused' : 'over',
    ...rest,
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
