/**
 * Which items have entries in their outbox, without asking about every item in every round. The gate's message names the item of each new
 * entry (`place-orders.ts` listens). A message may be lost, so the outboxes are also read: all of them, batch after batch, at the start
 * and whenever messages may have been missed; items whose door is draining in every round; of all others a few in each round, in turn.
 *
 * Reading takes nothing and holds nothing. A server that does not answer is left to a later round.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import { OutageLog } from '../../base/outage-log.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Outbox } from '../../gate/outbox.ts'

export interface EntrySearchContext {
  readonly outbox: Pick<Outbox, 'status'>
  readonly clock: Clock
  readonly log: Log
  /** Whose outboxes are drained now. */
  readonly items: () => Iterable<ItemId>
  /** Those of them whose outbox a rebuild waits for. */
  readonly pressing?: () => Iterable<ItemId>
}

/** What a round costs, however many items there are. */
const ITEMS_A_ROUND = 32
/** The server does nothing else meanwhile. */
const ITEMS_AT_ONCE_MAX = 256
/** After an outage of a server all its outboxes are read again; while it lasts, no more often than this. */
const AWAY_AGAIN_MS = 2_000
const OUTAGE_TEXTS = {
  event: 'outboxes_unread',
  begins: 'outboxes not read: the gate does not answer; the next round tries again',
  lasts: 'outboxes still not read',
  ends: 'outboxes are read again',
} as const

/** @param found called with each item that has entries */
export function createEntrySearch(context: EntrySearchContext, found: (item: ItemId) => void) {
  const { clock } = context
  const outage = new OutageLog(context, {}, OUTAGE_TEXTS)
  /** All items are to be read without a pause. */
  let all = true
  /** When all are, because some could not be. Monotonic, ms. */
  let againAtMs = Number.POSITIVE_INFINITY
  /** The rest of this pass through all items; the next one is at its end. */
  let rest: ItemId[] = []

  async function read(items: readonly ItemId[], goesOn: () => boolean): Promise<void> {
    for (let from = 0; from < items.length && goesOn(); from += ITEMS_AT_ONCE_MAX) {
      const seen = await context.outbox.status(items.slice(from, from + ITEMS_AT_ONCE_MAX))
      for (const { item, entries } of seen.items) if (entries > 0) found(item)
      if (seen.away.length === 0) {
        outage.worked()
        continue
      }
      againAtMs = Math.min(againAtMs, clock.elapsed() + AWAY_AGAIN_MS)
      outage.failed(new Fault('gate_away', 'outboxes of items whose server is away', { retryable: true }))
    }
  }

  return {
    /** Messages may have been missed. */
    missed(): void {
      all = true
    },
    /** One call at a time. */
    async round(goesOn: () => boolean): Promise<void> {
      if (clock.elapsed() >= againAtMs) {
        againAtMs = Number.POSITIVE_INFINITY
        all = true
      }
      if (all) {
        all = false
        return read([...context.items()], goesOn)
      }
      if (rest.length === 0) rest = [...context.items()].reverse()
      const some = rest.splice(-ITEMS_A_ROUND, ITEMS_A_ROUND)
      await read([...(context.pressing?.() ?? []), ...some], goesOn)
    },
  }
}
