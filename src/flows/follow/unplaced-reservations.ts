/**
 * What was promised of an item and may not be in the ledger yet, for whoever is about to say "no" or to take units away. Where nobody can
 * tell, it may be. Many who ask at once are one question.
 */

import { Fault } from '../../base/fault.ts'
import type { ItemId } from '../../domain/ids.ts'
import { type DrainedParts, entriesOf, isDrained } from '../keep/drain.ts'
import { mayBeOrphaned, type OrphanedEntriesParts } from '../keep/orphaned-entries.ts'
import type { Registry } from '../sell/live-item.ts'

export interface UnplacedReservationsParts {
  readonly outbox: DrainedParts['outbox'] & OrphanedEntriesParts['outbox']
  readonly nodes: DrainedParts['nodes']
  readonly rights: DrainedParts['rights']
  readonly reconciliation: OrphanedEntriesParts['reconciliation']
  readonly registry: Pick<Registry, 'has'>
}

export interface UnplacedReservations {
  /** Of an item that is followed or not, whose gate did not answer. */
  maybe(item: ItemId): Promise<boolean>
  /** Behind a door that was shut because a process went without a word (E10): the units belong to whom it told last. */
  promised(item: ItemId): Promise<boolean>
}

export function createUnplacedReservations(parts: UnplacedReservationsParts): UnplacedReservations {
  const asked = new Map<ItemId, Promise<boolean>>()

  async function look(item: ItemId): Promise<boolean> {
    return parts.registry.has(item) ? !(await isDrained(parts, item)) : mayBeOrphaned(parts, one => one === item)
  }

  return {
    maybe(item) {
      const known = asked.get(item)
      if (known !== undefined) return known
      const answer = look(item).finally(() => asked.delete(item))
      asked.set(item, answer)
      return answer
    },
    async promised(item) {
      const [right] = await parts.rights.read([item])
      if (right === undefined || right.door !== 'shut' || right.epoch === 0) return false
      const { waiting, lapsed } = await parts.nodes.unconfirmed(item, right.epoch)
      if (waiting + lapsed === 0) return false
      try {
        return (await entriesOf(parts, item)) > 0
      } catch (error) {
        if (error instanceof Fault) return true
        throw error
      }
    },
  }
}
