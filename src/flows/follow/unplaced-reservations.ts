/**
 * May acknowledged reservations of an item be unplaced? Asked before a buyer is told "no", and before units are taken away. Unknown counts as
 * yes. Concurrent questions about one item are one question.
 */

import { onFault } from '../../base/fault.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import { type DrainedParts, entriesOf, isDrained } from '../keep/drain.ts'
import { mayBeOrphaned, type OrphanedEntriesParts } from '../keep/orphaned-entries.ts'
import type { Registry } from '../sell/live-item.ts'

interface UnplacedReservationsParts {
  readonly outbox: DrainedParts['outbox'] & OrphanedEntriesParts['outbox']
  readonly nodes: DrainedParts['nodes']
  readonly rights: DrainedParts['rights']
  readonly reconciliation: OrphanedEntriesParts['reconciliation']
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
  /** Behind a door that was shut because a process lapsed without a word (E10): the units belong to the buyers it told last. */
  promised(item: ItemId): Promise<boolean>
}

/** Where every buyer is answered after the ledger's commit. */
export const NOTHING_UNPLACED: UnplacedReservations = Object.freeze({
  maybe: async () => false,
  orphaned: async () => false,
  unconfirmed: async () => false,
  promised: async () => false,
})

export function createUnplacedReservations(parts: UnplacedReservationsParts): UnplacedReservations {
  const asked = new Map<ItemId, Promise<boolean>>()

  function read(item: ItemId): Promise<boolean> {
    return orYes(async () =>
      parts.registry.has(item) ? !(await isDrained(parts, item)) : orphaned(one => one === item),
    )
  }

  async function orphaned(counts: (item: ItemId) => boolean): Promise<boolean> {
    return !parts.follows() || mayBeOrphaned(parts, counts)
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
    unconfirmed: async (item, epoch) => (await parts.nodes.unconfirmed(item, epoch)).lapsed > 0,
    async promised(item) {
      const [right] = await parts.rights.read([item])
      if (right === undefined || right.door !== 'shut' || right.epoch === 0) return false
      const { waiting, lapsed } = await parts.nodes.unconfirmed(item, right.epoch)
      return waiting + lapsed > 0 && orYes(async () => (await entriesOf(parts, item)) > 0)
    },
  }
}

function orYes(question: () => Promise<boolean>): Promise<boolean> {
  return onFault(question, () => true)
}
