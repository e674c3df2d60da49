/**
 * The controller of all gates: prepares, opens, rebuilds, closes and forgets each item's gate, in this process or outside it. Every round it
 * reads the followed sales from the ledger and the gate's health, plans each item (`plan-item.ts`), and begins what is missing: a rebuild,
 * the ledger's door while the gate is away (E10), a state that has not reached the gate. What takes long (a rebuild waits `fenceMs` and
 * drains) is a task: at most one per item, and a bounded number at once, so that one item does not hold up the others.
 *
 * Acts only while it holds the leader lock; and if two processes believe they do, every step is compare-and-set on the epoch that its own
 * raise gave it (E3). A task that ends, dies or gives up leaves a door that is draining, and the next round starts over.
 *
 * A round that began while an item's task was under way does not plan that item: what it read may be from before the task's end.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import type { Epoch, ItemId, SaleId } from '../../domain/ids.ts'
import type { Door, Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate } from '../../gate/gate.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { Nodes } from '../../ledger/nodes.ts'
import type { Rights } from '../../ledger/rights.ts'
import type { Sales } from '../../ledger/sales.ts'
import { drain } from './drain.ts'
import { createGateHealth } from './gate-health.ts'
import { type GateHealth, isOver, planItem } from './plan-item.ts'
import { rebuildGate } from './rebuild-gate.ts'
import { sellWithoutGate } from './sell-without-gate.ts'
import { createStateRepeater, shows, windowStateOf } from './sync-state.ts'

interface ControllerContext {
  readonly gate: Gate
  readonly outbox: Pick<Outbox, 'depth'>
  readonly rights: Rights
  readonly sales: Sales
  readonly nodes: Pick<Nodes, 'unconfirmed' | 'longestFenceMs' | 'leaseEnds' | 'settle'>
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  /** Does this process hold the leader lock? Asked before every step. */
  readonly maySell: () => boolean
  /** Opens connections and reads the catalog before the crowd needs them. */
  readonly prepare: () => Promise<void>
  /** The door an item is sold behind when all is well. */
  readonly homeDoorOf: (item: Item) => Door
  /** Shuts the doors of ended items whose gate is gone with an earlier process: they are not built again. */
  readonly shutIdle: () => Promise<unknown>
  /** An item's door was set: this process should follow it at once. */
  readonly onDoorSet: () => void
  /** Waited for at least; longer where an edge says so. 0 where each answer is itself the commit that checks the epoch under the item lock. */
  readonly fenceMs: number
  /** E10: a gate that is away for longer than this is done without. */
  readonly gateDownMs: number
  /** A gate that has just come back may go again: so long it must have answered before it replaces another door that sells. */
  readonly backMs: number
  /** Longer than a lease. */
  readonly drainMsMax: number
}

/** Nearly all of a task is waiting: after a restart of the gate all its items are to wait together, not one after the other. */
const TASKS_MAX = 128
/** What asks much of the ledger, each with a connection of its own: a snapshot, a warm-up. */
const HEAVY_AT_ONCE_MAX = 4
const SETTLE_EVERY_MS = 1_000
/** Clocks of two servers may differ by a second before anything is stopped; another for what was read one after the other. */
const SETTLE_MARGIN_MS = 2_000

export class GateController {
  readonly #context: ControllerContext
  readonly #tasks = new Map<ItemId, Promise<void>>()
  /** When an item's last task ended: the item that has waited longest is next. */
  readonly #triedMs = new Map<ItemId, number>()
  /** Items to be compacted: when the last lease ended of those that were held as that was first seen. */
  readonly #scattered = new Map<ItemId, number>()
  readonly #heavy = createSemaphore(HEAVY_AT_ONCE_MAX)
  readonly #preparing = new Map<SaleId, Promise<void>>()
  readonly #states
  #health
  #bug: { readonly error: unknown } | undefined
  #settledMs = Number.NEGATIVE_INFINITY

  constructor(context: ControllerContext) {
    const { gate, sales, rights, clock } = context
    this.#context = context
    this.#states = createStateRepeater(gate, sales, item => rights.raiseEpoch(item))
    this.#health = createGateHealth(gate, clock)
  }

  /** Plans every item once. Begins tasks and does not wait for them. Throws what a task met that is no fault. */
  async round(): Promise<void> {
    const { gate, sales, clock, maySell } = this.#context
    if (this.#bug !== undefined) throw this.#bug.error
    if (!maySell()) {
      // Another process kept the gates meanwhile: what was seen before says nothing.
      this.#health = createGateHealth(gate, clock)
      return
    }
    await this.#context.shutIdle()
    const busy = new Set(this.#tasks.keys())
    const { nowMs, sales: followed } = await sales.followed()
    const items = followed.flatMap(sale => sale.items.map(item => ({ sale, item })))
    const behindGate = items.filter(({ item }) => this.#isHomeAtGate(item)).map(({ item }) => item)
    const health = await this.#health.read(behindGate)
    this.#forgetOthers(items.map(({ item }) => item.id))

    const due: (() => void)[] = []
    let whole = true
    const oldestFirst = items.toSorted((a, b) => this.#lastTryMs(a.item) - this.#lastTryMs(b.item))
    for (const { sale, item } of oldestFirst) {
      if (busy.has(item.id)) whole = false
      else if (!(await this.#plan(sale, item, nowMs, health.of(item.id), due))) whole = false
    }
    for (const start of due) start()
    if (whole && behindGate.length > 0) await this.#settleNodes(behindGate, Math.min(nowMs, health.nowMs ?? nowMs))
  }

  /** Runs `work` as the item's one task. False: another is under way, or too many are; nothing was begun. */
  async alone(item: ItemId, work: () => Promise<void>): Promise<boolean> {
    if (!this.#begin(item, work)) return false
    await this.#tasks.get(item)
    return true
  }

  /** Resolves when no task is under way. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks.values())
  }

  #isHomeAtGate(item: Item): boolean {
    return this.#context.homeDoorOf(item) === 'gate'
  }

  #lastTryMs(item: Item): number {
    return this.#triedMs.get(item.id) ?? 0
  }

  #forgetOthers(items: readonly ItemId[]): void {
    const known = new Set(items)
    for (const id of this.#triedMs.keys()) if (!known.has(id)) this.#triedMs.delete(id)
    for (const id of this.#scattered.keys()) if (!known.has(id)) this.#scattered.delete(id)
  }

  /** Adds what is to be begun to `due`. False: the item's gate does not have everything it should have. */
  async #plan(sale: Sale, item: Item, nowMs: number, health: GateHealth, due: (() => void)[]): Promise<boolean> {
    const home = this.#context.homeDoorOf(item)
    const wanted = planItem(sale, item, home, nowMs, health, this.#context)
    if (wanted !== 'compact') this.#scattered.delete(item.id)
    const plan = wanted === 'compact' && !(await this.#allRenewed(item.id)) ? 'sync' : wanted
    switch (plan) {
      case 'rest':
        break
      case 'sync':
        if (health.kind === 'there' && health.status !== undefined) await this.#states.repeat(sale, item, health.status)
        break
      case 'rebuild':
      case 'compact':
        due.push(() => this.#begin(item.id, () => this.#rebuild(sale, item, plan === 'compact')))
        break
      case 'without_gate':
      case 'behind_ledger':
        due.push(() => this.#begin(item.id, () => this.#withoutGate(item, home)))
    }
    const kept = plan === 'sync' || (plan === 'rest' && isOver(sale, nowMs))
    return home !== 'gate' || (kept && health.kind === 'there')
  }

  /**
   * A rebuild waits for every process (E4), for one that has died until its lease lapses, and nothing is sold meanwhile. Compacting is no
   * emergency: it begins when every process that has a lease has renewed it since.
   */
  async #allRenewed(item: ItemId): Promise<boolean> {
    const ends = await this.#context.nodes.leaseEnds()
    if (ends === undefined) return true
    const sinceMs = this.#scattered.get(item)
    if (sinceMs === undefined) this.#scattered.set(item, ends.lastMs)
    return sinceMs !== undefined && ends.firstMs > sinceMs
  }

  #begin(item: ItemId, work: () => Promise<void>): boolean {
    if (this.#tasks.has(item) || this.#tasks.size >= TASKS_MAX || !this.#context.maySell()) return false
    const task = this.#run(item, work).finally(() => {
      this.#tasks.delete(item)
      this.#triedMs.set(item, this.#context.clock.elapsed())
    })
    this.#tasks.set(item, task)
    return true
  }

  async #run(item: ItemId, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof Fault)
        this.#context.log.warn(
          { item, code: error.code, err: error },
          'gate task not finished; the next round starts over',
        )
      else this.#bug ??= { error }
    }
  }

  async #rebuild(sale: Sale, item: Item, compact: boolean): Promise<void> {
    const { clock, log, meters, rights, maySell, onDoorSet } = this.#context
    const startedMs = clock.elapsed()
    if (compact)
      log.info({ item: item.id, shards: item.shards }, 'few units left: the gate is built anew with one shard')
    meters.count('rebuilds', 'begun')
    meters.count('door_turns', 'draining')
    let epoch: Epoch | undefined
    try {
      epoch = await rebuildGate(
        {
          ...this.#context,
          rights: { ...rights, snapshot: (...terms) => this.#heavy.run(() => rights.snapshot(...terms)) },
          compact,
          mayGoOn: maySell,
          fenceWaitMs: () => this.#fenceWaitMs(),
          drain: async (id, own) => (await this.#drain(id, own, true)) !== undefined,
          beforeOpening: own => this.#beforeOpening(sale, item, own),
        },
        item.id,
      )
    } finally {
      meters.count('rebuilds', epoch === undefined ? 'failed' : 'done')
    }
    const tookMs = Math.round(clock.elapsed() - startedMs)
    if (epoch === undefined) {
      log.warn({ sale: sale.id, item: item.id, tookMs }, 'gate not opened; the next round starts over')
      return
    }
    meters.time('rebuild', clock.elapsed() - startedMs)
    meters.count('door_turns', 'gate')
    log.info({ sale: sale.id, item: item.id, epoch, tookMs }, 'item on sale')
    onDoorSet()
  }

  /** Warm, and as the ledger has it now: an operator may have moved the sale since the snapshot. */
  async #beforeOpening(sale: Sale, item: Item, epoch: Epoch): Promise<void> {
    const { gate, sales } = this.#context
    if (item.epoch === 0) await this.#prepareOnce(sale.id)
    const now = await sales.find(sale.id)
    const [status] = (await gate.status([item.id])).items
    if (now === undefined || status === undefined || shows(status, now)) return
    const done = await gate.set(item.id, epoch, windowStateOf(now))
    if (done.status === 'done') return
    throw new Fault('gate_not_told', `item ${item.id}: the gate did not take the sale's state`, { retryable: true })
  }

  /** Once for all items of a sale that are built together. */
  #prepareOnce(sale: SaleId): Promise<void> {
    let preparing = this.#preparing.get(sale)
    if (preparing === undefined) {
      preparing = this.#heavy.run(this.#context.prepare).finally(() => this.#preparing.delete(sale))
      this.#preparing.set(sale, preparing)
    }
    return preparing
  }

  async #withoutGate(item: Item, home: Door): Promise<void> {
    const { meters, maySell, onDoorSet } = this.#context
    meters.count('door_turns', 'draining')
    const door = await sellWithoutGate(
      {
        ...this.#context,
        mayGoOn: maySell,
        fenceWaitMs: () => this.#fenceWaitMs(),
        drain: (id, epoch) => this.#drain(id, epoch, false),
      },
      item,
      home,
    )
    if (door === undefined) return
    meters.count('door_turns', door)
    onDoorSet()
  }

  /** E2, E3: so long an edge may go on acknowledging under what it read before the epoch was raised; longer where an edge's own fence is. */
  async #fenceWaitMs(): Promise<number> {
    const { nodes, fenceMs, log } = this.#context
    const longestMs = await nodes.longestFenceMs()
    if (longestMs > fenceMs)
      log.warn({ fenceMs, longestMs }, 'an edge has a longer FENCE_MS than this keeper; waiting for the longer one')
    return Math.max(fenceMs, longestMs)
  }

  #drain(item: ItemId, epoch: Epoch, withOutbox: boolean): Promise<{ readonly lapsed: number } | undefined> {
    return drain({ ...this.#context, mayGoOn: this.#context.maySell }, item, epoch, withOutbox)
  }

  /**
   * What lapsed processes had reserved before the oldest entry that still waits is in the ledger. `nowMs` was read before the outbox is:
   * what is written there since is younger. Only when the gate has everything it should have: an outbox that was lost is empty too. An entry
   * from the future was dated by a wrong clock: its age can't be told.
   */
  async #settleNodes(items: readonly Item[], nowMs: number): Promise<void> {
    const { clock, outbox, nodes } = this.#context
    if (clock.elapsed() - this.#settledMs < SETTLE_EVERY_MS) return
    this.#settledMs = clock.elapsed()
    let oldestMs = nowMs
    try {
      for (const depth of await outbox.depth(items.map(({ id }) => id))) {
        if (depth.oldestMs !== undefined && depth.oldestMs > nowMs + SETTLE_MARGIN_MS) return
        oldestMs = Math.min(oldestMs, depth.oldestMs ?? nowMs)
      }
    } catch (error) {
      if (error instanceof Fault) return
      throw error
    }
    await nodes.settle(Math.floor(oldestMs - SETTLE_MARGIN_MS))
  }
}
