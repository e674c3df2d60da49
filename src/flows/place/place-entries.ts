/**
 * Places entries of one partition and one epoch (`place-acknowledged.ts`). Whatever the ledger decides about a reservation ends in a row;
 * the units of what it refuses, and of poison, go back to the gate. An entry that can't be read is stored as a dead letter.
 *
 * A fault leaves everything where it is. May be repeated from the start at any point.
 */

import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import { BUYER_LENGTH_MAX, type Epoch, type ItemId, isId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Channel } from '../../gate/channel.ts'
import type { Release } from '../../gate/gate.ts'
import type { Outbox, OutboxEntry, Partition, QueuedAsk } from '../../gate/outbox.ts'
import type { EntrySearchContext } from './entry-search.ts'
import { placingSpans } from './entry-spans.ts'
import { type AcknowledgedContext, bury, type Outcome, placeAcknowledged } from './place-acknowledged.ts'

interface EntriesContext extends AcknowledgedContext {
  readonly outbox: Pick<Outbox, 'itemOf' | 'release'>
}

export interface PlaceContext extends EntriesContext, EntrySearchContext {
  readonly outbox: Omit<Outbox, 'depth' | 'forget'>
  readonly channel: Channel
  readonly random: Random
  /** The name for its leases, unique among all workers. */
  readonly worker: string
  /** Is this item's outbox drained now? One of `items`. */
  readonly drains: (item: ItemId) => boolean
}

/** The orders as they are in the ledger now. Throws a fault when the entries must stay. */
export async function placeEntries(
  context: EntriesContext,
  partition: Partition,
  epoch: Epoch,
  entries: readonly OutboxEntry[],
): Promise<readonly Order[]> {
  const item = context.outbox.itemOf(partition)
  for (const entry of entries) if (entry.asks === undefined) await buryEntry(context, item, entry)
  const asks = entries.flatMap(entry => entry.asks ?? [])
  if (asks.length === 0) return []
  context.meters.size('place_batch', asks.length)
  // Searched for a dead letter only.
  const entryOf = (ask: QueuedAsk) => entries.find(entry => entry.asks?.includes(ask))!.id
  const source = { item, epoch, faultPoints: 'place', entryOf } as const
  const committed = placingSpans(context.spans, entries)
  const orders: Order[] = []
  const releases: Release[] = []
  await placeAcknowledged(context, source, asks, (ask, outcome) => {
    // Nothing leaves the outbox before it is stored.
    if (outcome.verdict === 'stuck' && !outcome.letter) throw outcome.why
    if (outcome.verdict === 'placed')
      context.meters.time('outbox_age', Math.max(0, outcome.order.placedAtMs - ask.reservedAtMs))
    const order = orderOf(outcome)
    if (order !== undefined) orders.push(order)
    // Also when an earlier try was refused: its units may still be held.
    if (order === undefined || order.reason === 'refused') releases.push(releaseOf(ask))
  })
  committed?.()
  await release(context, partition, epoch, releases.filter(isWellFormed))
  return orders
}

/** Its row. Undefined: it has none, and will never have one. */
function orderOf(outcome: Outcome): Order | undefined {
  return outcome.verdict === 'stuck' ? undefined : outcome.order
}

async function release(context: EntriesContext, partition: Partition, epoch: Epoch, releases: readonly Release[]) {
  if (releases.length === 0) return
  // A repeated release changes nothing; stale means that this gate is gone, and the next one is built from the ledger.
  const done = await context.outbox.release(partition, epoch, releases)
  if (done.status !== 'unknown') return
  const what = `partition ${partition}: refused units may not be back in the gate`
  throw new Fault('gate_away', what, { retryable: true })
}

async function buryEntry(context: EntriesContext, item: ItemId, { id, epoch, raw }: OutboxEntry): Promise<void> {
  const why = 'the entry can not be read'
  const unwritten = await bury(context, { item, epoch, entry: id, order: undefined, raw, why })
  if (unwritten !== undefined) throw unwritten
}

function releaseOf({ order, buyer, attempt }: QueuedAsk): Release {
  return { order, buyer, attempt, outcome: 'refused' }
}

/** What no gate can have recorded is not released: for the gate it would be a bug. */
function isWellFormed({ order, buyer, attempt }: Release): boolean {
  const named = buyer.length >= 1 && buyer.length <= BUYER_LENGTH_MAX
  return isId(order) && named && Number.isSafeInteger(attempt) && attempt >= 1
}
