/**
 * The keeper of a cluster's gates. Every round it reads what is followed from the ledger, looks at the gate, and begins what is missing:
 * a rebuild, the ledger's door while the gate is away (E10), a word that has not reached the gate. What takes long (a rebuild waits
 * `fenceMs` and drains) is a task: at most one per item, and a bounded number at once, so that one item does not hold up the others.
 *
 * Acts only while it may (one keeper at a time, by the advisory lock); and if two believe they may, every step is compare-and-set on the
 * epoch its own bump gave it (E3). A task that ends, dies or gives up leaves a door that is draining, and the next round starts over.
 *
 * A round that began while an item's task was under way does not judge that item: what it read of it may be from before the task's end.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate } from '../../gate/gate.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { Nodes } from '../../ledger/nodes.ts'
import type { Rights } from '../../ledger/rights.ts'
import type { Sales } from '../../ledger/sales.ts'
import { drain } from './drain.ts'
import { createGateHealth } from './gate-health.ts'
import { isOver, planItem } from './plan-item.ts'
import { rebuildGate } from './rebuild-gate.ts'
import { createStateSync } from './repeat-state.ts'
import { openWithoutGate } from './sell-without-gate.ts'
import { shows, windowStateOf } from './sync-state.ts'

export interface GateControllerParts {
  readonly gate: Gate
  readonly outbox: Pick<Outbox, 'depth'>
  readonly rights: Rights
  readonly sales: Sales
  readonly nodes: Pick<Nodes, 'unconfirmed' | 'longestFenceMs' | 'leaseEnds' | 'settle'>
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  /** Does this process hold the right to keep? Asked before every step. */
  readonly maySell: () => boolean
  /** Opens connections and reads the catalog before the crowd needs them. */
  readonly prepare: () => Promise<void>
  /** Waited for at least; longer where an edge says so. */
  readonly fenceMs: number
  /** E10: a gate that is away for longer than this is done without. */
  readonly gateDownMs: number
  /** Longer than a lease. */
  readonly drainMsMax: number
}

export interface GateController {
  /** Judges everything once. Begins tasks and does not wait for them. Throws what a task met that is no fault. */
  round(): Promise<void>
  /** Does something to an item as its one task. False: another is under way, or too many are; nothing was begun. */
  alone(item: ItemId, work: () => Promise<void>): Promise<boolean>
  /** Resolves when no task is under way. */
  idle(): Promise<void>
}

/** Nearly all of a task is waiting: after a restart of the gate all its items are to wait together, not one after the other. */
const TASKS_MAX = 128
/** What asks much of the ledger, each with a connection of its own: a snapshot, a warm-up. */
const HEAVY_AT_ONCE_MAX = 4
const SETTLE_EVERY_MS = 1_000
/** Clocks of two servers may differ by a second before anybody is stopped; another for what was read one after the other. */
const SETTLE_MARGIN_MS = 2_000

export function createGateController(parts: GateControllerParts): GateController {
  const { gate, sales, clock, log, meters, maySell } = parts
  const tasks = new Map<ItemId, Promise<void>>()
  /** When an item's last task ended: who has waited longest is next. */
  const triedMs = new Map<ItemId, number>()
  /** Items to be brought together: when the last lease ended of those that stood as that was first seen. */
  const scattered = new Map<ItemId, number>()
  let reaches = createGateHealth(gate, clock)
  const tell = createStateSync(gate, sales, item => parts.rights.raiseEpoch(item))
  const heavy = createSemaphore(HEAVY_AT_ONCE_MAX)
  let bug: { readonly error: unknown } | undefined
  let settledMs = Number.NEGATIVE_INFINITY

  async function round(): Promise<void> {
    if (bug !== undefined) throw bug.error
    if (!maySell()) {
      // What is seen next time has no past: others kept the gates meanwhile.
      reaches = createGateHealth(gate, clock)
      return
    }
    const busy = new Set(tasks.keys())
    const { nowMs, sales: followed } = await sales.followed()
    const items = followed.flatMap(sale => sale.items.map(item => ({ sale, item })))
    const behindGate = items.filter(({ item }) => item.homeDoor === 'gate').map(({ item }) => item)
    const reach = await reaches.look(behindGate)
    const known = new Set(items.map(({ item }) => item.id))
    for (const id of triedMs.keys()) if (!known.has(id)) triedMs.delete(id)
    for (const id of scattered.keys()) if (!known.has(id)) scattered.delete(id)

    const due: (() => void)[] = []
    let whole = true
    const oldestFirst = items.toSorted((a, b) => (triedMs.get(a.item.id) ?? 0) - (triedMs.get(b.item.id) ?? 0))
    for (const { sale, item } of oldestFirst) {
      if (busy.has(item.id)) {
        whole = false
        continue
      }
      const seen = reach.of(item.id)
      const judged = planItem(sale, item, nowMs, seen, parts.gateDownMs)
      if (judged !== 'compact') scattered.delete(item.id)
      const judgement = judged === 'compact' && !(await allLive(item.id)) ? 'tell' : judged
      const kept = judgement === 'tell' || (judgement === 'rest' && isOver(sale, nowMs))
      if (item.homeDoor === 'gate' && !(kept && seen.kind === 'there')) whole = false
      switch (judgement) {
        case 'rest':
          break
        case 'tell':
          if (seen.kind === 'there' && seen.look !== undefined) await tell.look(sale, item, seen.look)
          break
        case 'rebuild':
          due.push(() => begin(item.id, () => rebuild(sale, item, false)))
          break
        case 'compact':
          due.push(() => begin(item.id, () => rebuild(sale, item, true)))
          break
        case 'without_gate':
        case 'behind_ledger':
          due.push(() => begin(item.id, () => withoutGate(item)))
      }
    }
    for (const start of due) start()
    if (whole && behindGate.length > 0 && clock.elapsed() - settledMs >= SETTLE_EVERY_MS) {
      settledMs = clock.elapsed()
      await settleNodes(
        behindGate.map(item => item.id),
        Math.min(nowMs, reach.nowMs ?? nowMs),
      )
    }
  }

  /**
   * A rebuild waits for every process (E4), for one that has died until its lease lapses, and nobody sells meanwhile. Bringing units
   * together is no emergency: it begins when every process that has a lease has renewed it since.
   */
  async function allLive(item: ItemId): Promise<boolean> {
    const ends = await parts.nodes.leaseEnds()
    if (ends === undefined) return true
    const sinceMs = scattered.get(item)
    if (sinceMs === undefined) scattered.set(item, ends.lastMs)
    return sinceMs !== undefined && ends.firstMs > sinceMs
  }

  function begin(item: ItemId, work: () => Promise<void>): boolean {
    if (tasks.has(item) || tasks.size >= TASKS_MAX || !maySell()) return false
    const task = run(item, work).finally(() => {
      tasks.delete(item)
      triedMs.set(item, clock.elapsed())
    })
    tasks.set(item, task)
    return true
  }

  async function run(item: ItemId, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof Fault) log.warn({ item, code: error.code, err: error }, 'not finished; starting over')
      else bug ??= { error }
    }
  }

  async function rebuild(sale: Sale, item: Item, compact: boolean): Promise<void> {
    const startedMs = clock.elapsed()
    if (compact)
      log.info({ item: item.id, shards: item.shards }, 'few units left: the gate is built anew with one shard')
    meters.count('rebuilds', 'begun')
    meters.count('door_turns', 'draining')
    let epoch: Epoch | undefined
    try {
      epoch = await rebuildGate(
        {
          ...parts,
          rights: { ...parts.rights, snapshot: (...words) => heavy.run(() => parts.rights.snapshot(...words)) },
          far: {
            mayGoOn: maySell,
            longestFenceMs,
            drain: async (id, own) => (await drainItem(id, own, true)) !== undefined,
            compact,
            beforeOpening: (_, own) => beforeOpening(sale, item, own),
          },
        },
        item.id,
      )
    } finally {
      meters.count('rebuilds', epoch === undefined ? 'failed' : 'done')
    }
    const tookMs = clock.elapsed() - startedMs
    if (epoch === undefined) {
      log.warn({ sale: sale.id, item: item.id, tookMs: Math.round(tookMs) }, 'the gate was not opened; starting over')
      return
    }
    meters.time('rebuild', tookMs)
    meters.count('door_turns', 'gate')
    log.info({ sale: sale.id, item: item.id, epoch, tookMs: Math.round(tookMs) }, 'item on sale')
  }

  /** Warm, and as the ledger has it now: the snapshot may be older than an operator's last word. */
  async function beforeOpening(sale: Sale, item: Item, epoch: Epoch): Promise<void> {
    if (item.epoch === 0) await heavy.run(parts.prepare)
    const now = await sales.find(sale.id)
    const [look] = (await gate.status([item.id])).items
    if (now === undefined || look === undefined || shows(look, now)) return
    const done = await gate.set(item.id, epoch, windowStateOf(now))
    if (done.status === 'done') return
    throw new Fault('gate_not_told', `item ${item.id}: the gate was not told what the sale is now`, { retryable: true })
  }

  async function withoutGate(item: Item): Promise<void> {
    meters.count('door_turns', 'draining')
    const door = await openWithoutGate(
      { ...parts, longestFenceMs, mayGoOn: maySell, drain: (id, epoch) => drainItem(id, epoch, false) },
      item,
    )
    if (door !== undefined) meters.count('door_turns', door)
  }

  /** An edge that was started with a longer fence than this process trusts what it has read for longer (E2). */
  async function longestFenceMs(): Promise<number> {
    const longestMs = await parts.nodes.longestFenceMs()
    if (longestMs > parts.fenceMs)
      log.warn({ fenceMs: parts.fenceMs, longestMs }, 'an edge has a longer FENCE_MS than this keeper; waiting for it')
    return longestMs
  }

  function drainItem(
    item: ItemId,
    epoch: Epoch,
    withOutbox: boolean,
  ): Promise<{ readonly lapsed: number } | undefined> {
    return drain({ ...parts, mayGoOn: maySell }, item, epoch, withOutbox)
  }

  /**
   * What lapsed processes had reserved before the oldest entry that still waits is in the ledger. `nowMs` was read before the outbox was:
   * what is written there since is younger. Only when the gate has everything it should have: an outbox that was lost is empty too. An entry
   * from the future was dated by a clock that was wrong: nobody knows how old it is.
   */
  async function settleNodes(items: readonly ItemId[], nowMs: number): Promise<void> {
    let oldestMs = nowMs
    try {
      for (const depth of await parts.outbox.depth(items)) {
        if (depth.oldestMs !== undefined && depth.oldestMs > nowMs + SETTLE_MARGIN_MS) return
        oldestMs = Math.min(oldestMs, depth.oldestMs ?? nowMs)
      }
    } catch (error) {
      if (error instanceof Fault) return
      throw error
    }
    await parts.nodes.settle(Math.floor(oldestMs - SETTLE_MARGIN_MS))
  }

  return {
    round,
    async alone(item, work) {
      if (!begin(item, work)) return false
      await tasks.get(item)
      return true
    },
    async idle() {
      while (tasks.size > 0) await Promise.all(tasks.values())
    },
  }
}
