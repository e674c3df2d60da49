/** The item's rights in PostgreSQL. Each verb is one statement of `ledger/sql`, except the snapshot, which is one transaction. */

import { assert } from '../../base/assert.ts'
import type { Door } from '../../domain/item.ts'
import { shardsFor } from '../../domain/shards.ts'
import type { Rights } from '../rights.ts'
import type { Database } from './connection/database.ts'
import { number, only, text, time } from './rows.ts'

const SNAPSHOT_PAGE = 5_000

export function createRights(database: Database): Rights {
  return {
    async read(items) {
      return (await database.run('item_rights', [items])).map(row => ({
        item: text(row, 'id'),
        epoch: number(row, 'epoch'),
        door: text(row, 'door') as Door,
      }))
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
    async shutIdle(liveItems) {
      return (await database.run('shut_idle_items', [liveItems])).map(row => text(row, 'id'))
    },
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
          olderVersions,
        }
      }),
    async now() {
      const row = only(await database.run('now', []))
      return time(row, 'now')
    },
  }
}
