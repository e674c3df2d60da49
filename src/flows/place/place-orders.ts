/**
 * The worker: entries of the outbox are delivered in the order they were taken, partition by partition: they become order rows, or copies
 * in a log (`delivery.ts`); the steps below are those of rows. Partitions are drained side by side, a bounded number at once and few of one
 * item, because the ledger takes an item's batches one after the other. What many partitions ask of outbox and ledger at the same time is
 * asked together. Within a partition the next batch follows at once if there may be one, unless other partitions wait; no batch waits to be
 * full. A partition is drained when it has entries: a message or a look (`entry-search.ts`) says so. An idle one is never in the way of a
 * busy one.
 *
 *   1 take    the oldest entries, under a short lease. Dies: the lease lapses, another worker gets the same ones
 *   2 place   one transaction, as acknowledged (E5). Dies before COMMIT: as before; after it: placing again finds the rows
 *   3 release what was refused, in the gate, under the entry's epoch; nothing where that is stale (E8)
 *   4 publish the orders on the channel. Lost: edges read the ledger for what they wait for
 *   5 done    the entries are deleted, after the commit and never before. Dies before: placed again, no second effect
 *
 * A fault (ledger or gate away) leaves the entries where they are; they are tried again with a growing pause. Reservations that the ledger
 * can't place are handled in `place-acknowledged.ts`.
 */

import { Fault, onFault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Partition } from '../../gate/outbox.ts'
import type { Delivery, Taken } from './delivery.ts'
import { createEntrySearch } from './entry-search.ts'
import type { PlaceContext } from './place-entries.ts'

const ASKS_MAX = 500
/** Of all partitions in hand together: a fraction of a second at the ledger, of the two that a lease lasts. */
const ASKS_HELD_MAX = 4_000
/** They share calls to outbox and ledger, so more of them cost no connections. */
const PARTITIONS_AT_ONCE_MAX = 128
/** While one batch of an item is in the ledger the next is fetched; a third would only wait, with a connection of its own. */
const PARTITIONS_OF_ITEM_MAX = 2
const PAUSE_MS = 50
const PAUSE_MS_MAX = 1_000
/** A message may come before this process follows the item: it is kept for so long, and so many of them are. */
const EARLY_MS = 5_000
const EARLY_MAX = 10_000

interface Work {
  readonly item: ItemId
  /** `unknown` while it asks the outbox. */
  holds: 'nothing' | 'unknown' | Epoch
  /** Behind what was taken last, more may wait. */
  more: boolean
  /** It was woken after the last take began. */
  again: boolean
}

export function placeOrders(context: PlaceContext, delivery: Delivery) {
  const { outbox, clock, log, worker } = context
  const working = new Map<Partition, Work>()
  const workingOf = new Map<ItemId, Set<Work>>()
  const tasks = new Set<Promise<void>>()
  /** In the order they were woken; bounded by the partitions there are. */
  const waiting = new Set<Partition>()
  const failing = new Map<Partition, { readonly failures: number; readonly untilMs: number }>()
  const leased = new Set<Partition>()
  /** Another worker had the lease at the last take: the rounds ask again, not every message. */
  const others = new Set<Partition>()
  /** Told of, and not followed by this process then: until when it is remembered. */
  const early = new Map<Partition, number>()
  const search = createEntrySearch(context, item => {
    for (const partition of outbox.partitions([item])) wake(partition)
  })
  let searching: Promise<void> | undefined
  let stopping = false
  let bug: { readonly error: unknown } | undefined

  context.channel.listen(message => {
    if (message.kind !== 'reserved') return
    const { partition, item, buyers, version } = message
    // Stock has changed without a reservation: no entry was written.
    if (buyers.length === 0 && version > 0) return
    if (others.has(partition)) return
    // Only what this process follows is drained: messages are not trusted.
    if (context.drains(item)) wake(partition)
    else if (early.size < EARLY_MAX) early.set(partition, clock.elapsed() + EARLY_MS)
  })
  context.channel.onGap(() => search.missed())

  /** What was told of too early, what failed and what another worker had. */
  function wakeKnown(): void {
    for (const [partition, untilMs] of early) {
      if (context.drains(outbox.itemOf(partition))) wake(partition)
      else if (clock.elapsed() < untilMs) continue
      early.delete(partition)
    }
    for (const known of [failing, others]) {
      for (const partition of known.keys()) {
        if (context.drains(outbox.itemOf(partition))) wake(partition)
        else known.delete(partition)
      }
    }
  }

  async function readOutboxes(): Promise<void> {
    try {
      await search.round(() => !stopping)
    } catch (error) {
      bug ??= { error }
    } finally {
      searching = undefined
    }
  }

  function wake(partition: Partition): void {
    if (stopping || bug !== undefined) return
    const busy = working.get(partition)
    if (busy !== undefined) busy.again = true
    else if ((failing.get(partition)?.untilMs ?? 0) <= clock.elapsed()) {
      waiting.add(partition)
      next()
    }
  }

  function next(): void {
    for (const partition of waiting) {
      if (working.size >= PARTITIONS_AT_ONCE_MAX) return
      const item = outbox.itemOf(partition)
      if ((workingOf.get(item)?.size ?? 0) >= PARTITIONS_OF_ITEM_MAX) continue
      waiting.delete(partition)
      const work: Work = { item, holds: 'nothing', more: false, again: false }
      begun(partition, work)
      const task = run(partition, work).finally(() => {
        ended(partition, work)
        tasks.delete(task)
        if (work.again) wake(partition)
        next()
      })
      tasks.add(task)
    }
  }

  function begun(partition: Partition, work: Work): void {
    working.set(partition, work)
    const others = workingOf.get(work.item)
    if (others === undefined) workingOf.set(work.item, new Set([work]))
    else others.add(work)
  }

  function ended(partition: Partition, work: Work): void {
    working.delete(partition)
    const others = workingOf.get(work.item)
    others?.delete(work)
    if (others?.size === 0) workingOf.delete(work.item)
  }

  async function run(partition: Partition, work: Work): Promise<void> {
    try {
      let taken = await take(partition, work)
      while (taken !== undefined) {
        // Others wait: it goes on behind them, or a partition that never runs dry would keep them waiting until it is sold out.
        const goesOn = () => !stopping && waiting.size === 0
        taken = await deliver(partition, work, taken, goesOn)
        failing.delete(partition)
      }
      failing.delete(partition)
    } catch (error) {
      if (!(error instanceof Fault)) {
        bug ??= { error }
        return
      }
      const failures = (failing.get(partition)?.failures ?? 0) + 1
      const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (failures - 1)) * (0.5 + context.random.next() / 2)
      failing.set(partition, { failures, untilMs: clock.elapsed() + pauseMs })
      work.again = false
      // Logged when it begins, and ever less often while it lasts: a hundred partitions may fail at once.
      if (Number.isInteger(Math.log2(failures)))
        log.warn(
          { event: 'entries_not_placed', partition, failures, code: error.code, err: error },
          'entries not placed; they stay in the outbox and are tried again',
        )
    } finally {
      work.holds = 'nothing'
    }
  }

  /** All partitions in hand together hold no more than is placed well within a lease: another worker would place the rest again. */
  function asksMax(): number {
    return Math.min(ASKS_MAX, Math.ceil(ASKS_HELD_MAX / working.size))
  }

  /** Undefined: there is nothing, or another worker has the lease. */
  async function take(partition: Partition, work: Work): Promise<Taken | undefined> {
    do {
      work.holds = 'unknown'
      work.again = false
      const taken = await delivery.take(partition, worker, asksMax())
      if (taken.status === 'held') {
        leased.delete(partition)
        others.add(partition)
        work.again = false
        return undefined
      }
      leased.add(partition)
      others.delete(partition)
      work.more = taken.more
      if (taken.entries.length > 0) return taken
      work.holds = 'nothing'
    } while (work.again && !stopping)
    return undefined
  }

  /**
   * What follows, if there may be any. One partition alone asks for it in the same write as it tells the outbox of this: the server does one after
   * the other. Of several the calls of each kind are shared, and a `take` might overtake this `done` and bring the same entries again.
   */
  async function deliver(partition: Partition, work: Work, { entries, deliver }: Taken, goesOn: () => boolean) {
    work.holds = Math.min(...entries.map(entry => entry.epoch))
    await faultPoint('outbox.take')
    const done: (() => Promise<void>)[] = []
    // Each epoch by itself: the ledger judges them apart (E5).
    for (const [epoch, some] of Map.groupBy(entries, entry => entry.epoch)) done.push(await deliver(epoch, some))
    // A message tells of what was written since, and wakes it again; an entry whose message was lost is found by reading.
    const isMore = work.more || work.again
    const takes = isMore && goesOn()
    const told = Promise.all(done.map(each => each()))
    if (working.size > 1) await told
    const [next] = await Promise.all([takes ? take(partition, work) : undefined, told])
    await faultPoint('outbox.done')
    if (isMore && !takes) work.again = true
    return next
  }

  /** Resolves when nothing is under way. */
  async function idle(): Promise<void> {
    while (tasks.size > 0 || searching !== undefined) await Promise.all([searching, ...tasks])
  }

  return {
    /** Begins to drain what has entries, as far as it is known, and looks for more; does not wait. Throws the bug that placing met before. */
    async round(): Promise<void> {
      if (bug !== undefined) throw bug.error
      wakeKnown()
      if (!stopping) searching ??= readOutboxes()
    },
    /** E4: may this process hold something of the item that was reserved under an epoch below this one? */
    holdsOlder(item: ItemId, epoch: Epoch): boolean {
      return [...(workingOf.get(item) ?? [])].some(
        ({ holds }) => holds === 'unknown' || (holds !== 'nothing' && holds < epoch),
      )
    },
    /** Finishes what is begun, takes nothing more, and gives its leases back. */
    async stop(): Promise<void> {
      stopping = true
      waiting.clear()
      await idle()
      // Best effort: a lease that is not given back lapses.
      for (const partition of leased)
        await onFault(
          () => outbox.give(partition, worker),
          () => {},
        )
      leased.clear()
    },
    idle,
  }
}
