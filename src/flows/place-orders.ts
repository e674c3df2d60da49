/**
 * The worker: what waits in the outbox becomes order rows, in the order it was taken, item by item. Items go side by side, a bounded number
 * at once; within an item one batch follows the other at once for as long as there is one, and none waits to be full.
 *
 *   1 take    the oldest entries, under a short lease. Dies: the lease lapses, another worker gets the same ones
 *   2 place   one transaction, as acknowledged (E5). Dies before COMMIT: as before; after it: placing again finds the rows
 *   3 release what was refused, in the gate, under the entry's epoch; nothing where that is stale (E8)
 *   4 done    the entries are deleted, after the commit and never before. Dies before: placed again, no second effect
 *   5 say so  on the channel. Lost: edges look into the ledger for what they wait for
 *
 * A fault (ledger or gate away) leaves the entries where they are; they are tried again with a growing pause. What the ledger refuses to
 * even look at is `place-entries.ts`'s matter.
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { faultPoint } from '../base/fault-points.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Epoch, ItemId } from '../domain/ids.ts'
import type { Channel } from '../gate/channel.ts'
import type { Outbox } from '../gate/outbox.ts'
import { type PlaceEntriesParts, placeEntries } from './place-entries.ts'

interface PlaceOrdersParts extends PlaceEntriesParts {
  readonly outbox: Pick<Outbox, 'take' | 'done' | 'give'>
  readonly channel: Pick<Channel, 'say' | 'listen'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** This worker's name for its leases: nobody else's. */
  readonly worker: string
  /** Items to look after now. */
  readonly items: () => Iterable<ItemId>
}

export interface OrderPlacer {
  /** Looks into the outbox of every item, and does not wait. Throws what placing met that is no fault. */
  round(): Promise<void>
  /** E4: may this process hold something of the item that was reserved under an epoch below this one? */
  holdsOlder(item: ItemId, epoch: Epoch): boolean
  /** Finishes what is begun, takes nothing more, and lets go of its items. */
  stop(): Promise<void>
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

const ASKS_MAX = 500
const ITEMS_AT_ONCE_MAX = 8
const PAUSE_MS = 50
const PAUSE_MS_MAX = 1_000

interface Work {
  /** While it asks the outbox nobody knows what it will hold: it may be anything. */
  holds: 'nothing' | 'unknown' | Epoch
  /** Somebody said that there is something, after the last look began. */
  again: boolean
}

interface Trouble {
  readonly failures: number
  readonly untilMs: number
}

export function placeOrders(parts: PlaceOrdersParts): OrderPlacer {
  const { outbox, clock, log, worker } = parts
  const working = new Map<ItemId, Work>()
  const tasks = new Set<Promise<void>>()
  /** In the order they were woken; bounded by the items there are. */
  const waiting = new Set<ItemId>()
  const troubles = new Map<ItemId, Trouble>()
  const leased = new Set<ItemId>()
  /** Another worker had it when it was last asked for: the rounds ask again, not every message. */
  const others = new Set<ItemId>()
  let followed = new Set<ItemId>()
  let stopping = false
  let bug: { readonly error: unknown } | undefined

  parts.channel.listen(message => {
    // Only what this process follows: the channel is not asked to be right.
    if (message.kind === 'reserved' && followed.has(message.item) && !others.has(message.item)) wake(message.item)
  })

  function wake(item: ItemId): void {
    if (stopping || bug !== undefined) return
    const busy = working.get(item)
    if (busy !== undefined) busy.again = true
    else if ((troubles.get(item)?.untilMs ?? 0) <= clock.elapsed()) {
      waiting.add(item)
      next()
    }
  }

  function next(): void {
    for (const item of waiting) {
      if (working.size >= ITEMS_AT_ONCE_MAX) return
      waiting.delete(item)
      const work: Work = { holds: 'nothing', again: false }
      working.set(item, work)
      const task = run(item, work).finally(() => {
        working.delete(item)
        tasks.delete(task)
        if (work.again) wake(item)
        next()
      })
      tasks.add(task)
    }
  }

  async function run(item: ItemId, work: Work): Promise<void> {
    try {
      while (!stopping && (await placeSome(item, work))) troubles.delete(item)
      troubles.delete(item)
    } catch (error) {
      if (!(error instanceof Fault)) {
        bug ??= { error }
        return
      }
      const failures = (troubles.get(item)?.failures ?? 0) + 1
      const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (failures - 1)) * (0.5 + parts.random.next() / 2)
      troubles.set(item, { failures, untilMs: clock.elapsed() + pauseMs })
      work.again = false
      // One line when it begins, and ever fewer while it lasts: a hundred items may be in the same trouble.
      if (Number.isInteger(Math.log2(failures)))
        log.warn({ item, failures, code: error.code, err: error }, 'reservations stay in the outbox; trying again')
    } finally {
      work.holds = 'nothing'
    }
  }

  /** False: there was nothing, or another worker has it. */
  async function placeSome(item: ItemId, work: Work): Promise<boolean> {
    work.holds = 'unknown'
    work.again = false
    const taken = await outbox.take(item, worker, ASKS_MAX)
    if (taken.status === 'held') {
      leased.delete(item)
      others.add(item)
      work.again = false
      return false
    }
    leased.add(item)
    others.delete(item)
    const { entries } = taken
    if (entries.length === 0) {
      work.holds = 'nothing'
      return work.again
    }
    work.holds = Math.min(...entries.map(entry => entry.epoch))
    await faultPoint('outbox.take')
    // Each epoch by itself: the ledger judges them apart (E5).
    for (const [epoch, some] of Map.groupBy(entries, entry => entry.epoch)) {
      const orders = await placeEntries(parts, item, epoch, some)
      await outbox.done(
        item,
        epoch,
        some.map(entry => entry.id),
      )
      await faultPoint('outbox.done')
      if (orders.length > 0) parts.channel.say({ kind: 'orders', orders })
    }
    return true
  }

  async function idle(): Promise<void> {
    while (tasks.size > 0) await Promise.all(tasks)
  }

  return {
    async round() {
      if (bug !== undefined) throw bug.error
      followed = new Set(parts.items())
      for (const item of troubles.keys()) if (!followed.has(item)) troubles.delete(item)
      for (const item of others) if (!followed.has(item)) others.delete(item)
      for (const item of followed) wake(item)
    },
    holdsOlder(item, epoch) {
      const holds = working.get(item)?.holds ?? 'nothing'
      return holds === 'unknown' || (holds !== 'nothing' && holds < epoch)
    },
    async stop() {
      stopping = true
      waiting.clear()
      await idle()
      for (const item of leased) {
        // Best effort: a lease that is not given back lapses.
        await outbox.give(item, worker).catch((error: unknown) => {
          if (!(error instanceof Fault)) throw error
        })
      }
      leased.clear()
    },
    idle,
  }
}
