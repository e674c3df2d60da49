/**
 * May acknowledged reservations of an item be unplaced? Asked before a buyer is told "no", and before units are taken away. Unknown counts as
 * yes. Concurrent questions about one item are one question.
 */

import { onFault } from '../../base/fault.ts'
import { createRotation } from '../../base/rotation.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { Nodes } from '../../ledger/nodes.ts'
import type { Reconciliation } from '../../ledger/reconciliation.ts'
import type { Rights } from '../../ledger/rights.ts'
import type { JudgedRights } from '../../ledger/stock.ts'
import { entriesOf } from '../keep/drain.ts'
import type { Registry } from '../sell/live-item.ts'

interface UnplacedContext {
  readonly outbox: Pick<Outbox, 'depth' | 'status'>
  readonly nodes: Pick<Nodes, 'unconfirmed'>
  readonly rights: Pick<Rights, 'read'>
  readonly reconciliation: Pick<Reconciliation, 'unsettledItems'>
  readonly registry: Pick<Registry, 'has'>
  /** Has this process read which items are live? Until then it may not know of an item whose gate holds reservations. */
  readonly follows: () => boolean
}

export interface UnplacedReservations {
  /** Of an item whose gate did not answer, live here or not. */
  maybe(item: ItemId): Promise<boolean>
  /** Of an item that is not live here: in its outbox, or at a gate that this process does not follow yet. */
  orphaned(counts: (item: ItemId) => boolean): Promise<boolean>
  /** Did a process lapse without confirming this epoch of the item (E10)? */
  unconfirmed(item: ItemId, epoch: Epoch): Promise<boolean>
  /**
   * Behind a door that was shut because a process lapsed without a word (E10): the units belong to the buyers it told last. `rights`: those
   * it was judged under; it says nothing about others. None: whatever they are.
   */
  promised(item: ItemId): Promise<{ readonly holds: boolean; readonly rights?: JudgedRights | undefined }>
}

/** A page. */
const ITEMS_MAX = 1_000

/** Where every buyer is answered after the ledger's commit. */
export const NOTHING_UNPLACED: UnplacedReservations = Object.freeze({
  maybe: async () => false,
  orphaned: async () => false,
  unconfirmed: async () => false,
  promised: async () => ({ holds: false }),
})

export function createUnplacedReservations(context: UnplacedContext): UnplacedReservations {
  const { outbox, nodes, rights, registry } = context
  const asked = new Map<ItemId, Promise<boolean>>()

  function read(item: ItemId): Promise<boolean> {
    return orYes(async () => (registry.has(item) ? !(await isDrained(item)) : orphaned(one => one === item)))
  }

  /**
   * Read once: is every reservation of this item that a buyer was ever told of in the ledger? No while its gate may sell it, and no while a
   * process has lapsed unconfirmed. The outbox is read last: a process that has confirmed writes nothing into it any more.
   */
  async function isDrained(item: ItemId): Promise<boolean> {
    const right = await rights.read(item)
    if (right === undefined || right.door === 'gate') return false
    const { waiting, lapsed } = await nodes.unconfirmed(item, right.epoch)
    return waiting + lapsed === 0 && (await entriesOf(outbox, [item])) === 0
  }

  async function orphaned(counts: (item: ItemId) => boolean): Promise<boolean> {
    if (!context.follows()) return true
    for await (const { items, away } of orphanedEntries(context, counts))
      if (items.length + away.length > 0) return true
    return false
  }

  return {
    maybe(item) {
      const known = asked.get(item)
      if (known !== undefined) return known
      const answer = read(item).finally(() => asked.delete(item))
      asked.set(item, answer)
      return answer
    },
    orphaned,
    unconfirmed: async (item, epoch) => (await nodes.unconfirmed(item, epoch)).lapsed > 0,
    async promised(item) {
      const right = await rights.read(item)
      if (right === undefined || right.door !== 'shut' || right.epoch === 0) return { holds: false, rights: right }
      const { waiting, lapsed } = await nodes.unconfirmed(item, right.epoch)
      const holds = waiting + lapsed > 0 && (await orYes(async () => (await entriesOf(outbox, [item])) > 0))
      return { holds, rights: right }
    },
  }
}

/**
 * Items with outbox entries of sales that are not followed any more: their gate was away when they ended, and came back more than an hour
 * later. A sale is not settled before its entries are in the ledger, so the list ends by itself; until then each item's outbox is read,
 * page by page. `away`: items whose gate does not answer.
 */
async function* orphanedEntries(
  { reconciliation, outbox }: Pick<UnplacedContext, 'reconciliation' | 'outbox'>,
  counts: (item: ItemId) => boolean,
): AsyncGenerator<{ readonly items: readonly ItemId[]; readonly away: readonly ItemId[] }> {
  const next = pagesOf(reconciliation)
  for (let isLast = false; !isLast; ) {
    const read = await next()
    isLast = read.isLast
    yield entriesAmong(outbox, read.page.map(({ id }) => id).filter(counts))
  }
}

/**
 * For a worker: the function finds items with such entries, at most so many at a time, and goes on behind them at its next call. What it
 * finds is placed and then found no more; what can't be placed keeps nothing else from its turn.
 */
export function createOrphanSearch({
  reconciliation,
  outbox,
}: {
  readonly reconciliation: Pick<Reconciliation, 'unsettledItems'>
  readonly outbox: Pick<Outbox, 'status'>
}): () => Promise<readonly ItemId[]> {
  const next = pagesOf(reconciliation)
  return async () => {
    const found: ItemId[] = []
    for (let isLast = false; !isLast && found.length < ITEMS_MAX; ) {
      const read = await next()
      isLast = read.isLast
      const { items } = await entriesAmong(
        outbox,
        read.page.map(({ id }) => id),
      )
      found.push(...items)
    }
    return found
  }
}

function pagesOf(reconciliation: Pick<Reconciliation, 'unsettledItems'>) {
  return createRotation(
    ITEMS_MAX,
    (after, max) => reconciliation.unsettledItems(after, max),
    ({ id }) => id,
  )
}

async function entriesAmong(outbox: Pick<Outbox, 'status'>, listed: readonly ItemId[]) {
  if (listed.length === 0) return { items: [], away: [] }
  const { items, away } = await outbox.status(listed)
  return { items: items.filter(({ entries }) => entries > 0).map(({ item }) => item), away }
}

function orYes(question: () => Promise<boolean>): Promise<boolean> {
  return onFault(question, () => true)
}
