/**
 * The controller of all gates: prepares, opens, rebuilds, closes and forgets each item's gate, in this process or outside it. Every round it
 * reads the followed sales from the ledger and the gate's health, plans each item (`plan-item.ts`), and begins what is missing: a rebuild,
 * the ledger's door while the gate is away (E10), a state that has not reached the gate. What takes long (a rebuild waits `fenceMs` and
 * drains) is a task: at most one per item, and a bounded number at once, so that one item does not hold up the others.
 *
 * Acts only while it holds the leader lock; and if two processes believe they do, every step is compare-and-set on the epoch that its own
 * raise gave it (E3). A task that ends, dies or gives up leaves a door that is draining, and the next round starts over.
 *
 * Where nothing is to be done a round does not look at every item (`quiet-gates.ts`).
 *
 * A round that began while an item's task was under way does not plan that item: what it read may be from before the task's end.
 */

import { eachOf } from '../../base/each-of.ts'
import { Fault, onFault } from '../../base/fault.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import type { Epoch, ItemId, SaleId } from '../../domain/ids.ts'
import type { Door, Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import { depthTogether, statusTogether } from './ask-together.ts'
import { createGateHealth } from './gate-health.ts'
import type { KeepContext, TaskContext } from './keep-context.ts'
import { type GateHealth, isOver, planItem } from './plan-item.ts'
import { isAsWanted, type KeptItem, QuietGates } from './quiet-gates.ts'
import { openGate, rebuildGate } from './rebuild-gate.ts'
import { sellWithoutGate } from './sell-without-gate.ts'
import { createStateRepeater, shows, windowStateOf } from './sync-state.ts'

/**
 * Nearly all of a task is waiting: after the loss of a gate all its items wait for one fence together. What they ask of ledger and outbox at
 * the same time is asked together.
 */
const TASKS_MAX = 20_000
/** Warm-ups: each opens connections. */
const PREPARING_AT_ONCE_MAX = 4
/** States that have not reached the gate are written so many at a time. */
const SYNC_AT_ONCE_MAX = 16
const SETTLE_EVERY_MS = 1_000
const BACK_MS_MAX = 60_000
/** A gate that has gone so often is not opened before it has been back for a while. */
const FLAPS_TRUSTED = 2
/** A gate that stayed for so long is trusted again. */
const FLAPS_FORGOTTEN_MS = 600_000
/** Clocks of two servers may differ by a second before anything is stopped; another for what was read one after the other. */
const SETTLE_MARGIN_MS = 2_000

export class GateController {
  readonly #context: TaskContext
  readonly #tasks = new Map<ItemId, Promise<void>>()
  /** When an item's last task ended: the item that has waited longest is next. */
  readonly #triedMs = new Map<ItemId, number>()
  /** Items to be compacted: when the last lease ended of those that were held as that was first seen. */
  readonly #scattered = new Map<ItemId, number>()
  /** How often an item's gate went, for so long that it was to be done without, and when it was last. */
  readonly #falls = new Map<ItemId, { readonly times: number; readonly lastMs: number }>()
  readonly #mayPrepare = createSemaphore(PREPARING_AT_ONCE_MAX)
  readonly #preparing = new Map<SaleId, Promise<void>>()
  readonly #repeatState
  /** Whose gate did not show what the ledger says of the sale, at the last round. */
  readonly #unsynced = new Set<ItemId>()
  #health
  readonly #quiet: QuietGates
  #bug: { readonly error: unknown } | undefined
  #settledMs = Number.NEGATIVE_INFINITY

  constructor(context: KeepContext) {
    const { gate, sales, rights, clock } = context
    this.#context = { ...context, statusOf: statusTogether(gate), outbox: depthTogether(context.outbox) }
    const raise = async (item: ItemId) => void (await rights.raiseEpoch(item))
    // A task, because it waits for the item's lock; the round goes on.
    this.#repeatState = createStateRepeater(gate, sales, async item => void this.#begin(item, () => raise(item)))
    this.#health = createGateHealth(gate, clock)
    this.#quiet = new QuietGates(gate, clock)
  }

  /** Plans every item once. Begins tasks and does not wait for them. Throws what a task met that is no fault. */
  async round(): Promise<void> {
    const { gate, sales, clock, maySell, homeDoorOf, oneServer } = this.#context
    if (this.#bug !== undefined) throw this.#bug.error
    if (!maySell()) {
      // Another process kept the gates meanwhile: what was seen before says nothing.
      this.#health = createGateHealth(gate, clock)
      this.#quiet.end()
      return
    }
    await this.#context.shutIdle()
    const busy = new Set(this.#tasks.keys())
    const { nowMs, sales: followed } = await sales.followed()
    if (await this.#isQuiet(followed, nowMs)) return
    const differed = this.#quiet.end()
    const items = followed.flatMap(sale => sale.items.map(item => ({ sale, item })))
    const behindGate = items.filter(({ item }) => homeDoorOf(item) === 'gate')
    const health = await this.#health(
      behindGate.map(({ sale, item }) => ({
        id: item.id,
        epoch: item.epoch,
        isSettled: status => item.door !== 'gate' || isAsWanted({ sale, item }, status),
      })),
      differed,
    )
    this.#forgetOthers(items.map(({ item }) => item.id))

    const lastTryMs = (one: { readonly item: Item }) => this.#triedMs.get(one.item.id) ?? 0
    const due: (() => void)[] = []
    const toSync: (() => Promise<void>)[] = []
    /** Behind the gate's door, and their gate has everything it should have. */
    const whole: Item[] = []
    /** Sold by a gate that is as the ledger wants it. */
    const atGate: KeptItem[] = []
    let resting = 0
    const oldestFirst = items.toSorted((a, b) => lastTryMs(a) - lastTryMs(b))
    for (const { sale, item } of oldestFirst) {
      const isWhole = !busy.has(item.id) && (await this.#plan(sale, item, nowMs, health.of(item.id), due, toSync))
      if (isWhole && homeDoorOf(item) === 'gate') whole.push(item)
      const one = health.of(item.id)
      if (item.door === 'gate' && one.kind === 'there' && isAsWanted({ sale, item }, one.status))
        atGate.push({ sale, item })
      else if (item.door === 'ledger' ? homeDoorOf(item) === 'ledger' : item.door === 'shut' && isOver(sale, nowMs))
        resting += 1
    }
    const isNothingToDo = due.length + toSync.length + busy.size + this.#unsynced.size + this.#scattered.size === 0
    if (oneServer && isNothingToDo && atGate.length + resting === items.length)
      this.#quiet.begin(followed, atGate, nowMs)
    for (const start of due) start()
    await eachOf(toSync, SYNC_AT_ONCE_MAX, sync => sync())
    const readMs = Math.min(nowMs, health.nowMs ?? nowMs)
    if (whole.length > 0) await this.#settleNodes(whole, whole.length === behindGate.length, readMs)
  }

  /** No task is under way, no process that lapsed is to be settled, and what the last round found still holds. */
  async #isQuiet(followed: readonly Sale[], nowMs: number): Promise<boolean> {
    if (this.#tasks.size > 0 || !(await this.#quiet.lasts(followed, nowMs))) return false
    const { clock, nodes } = this.#context
    if (clock.elapsed() - this.#settledMs < SETTLE_EVERY_MS) return true
    if ((await nodes.holding()).unsettled > 0) return false
    this.#settledMs = clock.elapsed()
    return true
  }

  /** Runs `work` as the item's one task. False: another is under way, or too many are; nothing was begun. */
  async alone(item: ItemId, work: () => Promise<void>): Promise<boolean> {
    if (!this.#begin(item, work)) return false
    await this.#tasks.get(item)
    return true
  }

  /** Resolves when the tasks that are under way now, of this item or of all, have ended. */
  async ended(item?: ItemId): Promise<void> {
    if (item === undefined) await Promise.all(this.#tasks.values())
    else await this.#tasks.get(item)
  }

  /** Resolves when no task is under way. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await this.ended()
  }

  #forgetOthers(items: readonly ItemId[]): void {
    const known = new Set(items)
    for (const id of this.#triedMs.keys()) if (!known.has(id)) this.#triedMs.delete(id)
    for (const id of this.#unsynced) if (!known.has(id)) this.#unsynced.delete(id)
    for (const id of this.#scattered.keys()) if (!known.has(id)) this.#scattered.delete(id)
    for (const id of this.#falls.keys()) if (!known.has(id)) this.#falls.delete(id)
  }

  /** The gate is done without, or was to be and came back meanwhile. */
  #fell(item: ItemId): void {
    const { times } = this.#fallsOf(item)
    this.#falls.set(item, { times: times + 1, lastMs: this.#context.clock.elapsed() })
  }

  #fallsOf(item: ItemId): { readonly times: number; readonly lastMs: number } {
    const falls = this.#falls.get(item)
    const isRecent = falls !== undefined && this.#context.clock.elapsed() - falls.lastMs < FLAPS_FORGOTTEN_MS
    return isRecent ? falls : { times: 0, lastMs: 0 }
  }

  /** Each return to the gate costs the item a fence: a gate that goes again and again must have been back for longer each time. */
  #backMs(item: ItemId): number {
    const { times } = this.#fallsOf(item)
    return Math.min(this.#context.backMs * 2 ** Math.max(0, times - 1), BACK_MS_MAX)
  }

  /** Adds what is to be begun to `due` or `toSync`. False: the item's gate does not have everything it should have. */
  async #plan(
    sale: Sale,
    item: Item,
    nowMs: number,
    health: GateHealth,
    due: (() => void)[],
    toSync: (() => Promise<void>)[],
  ): Promise<boolean> {
    const home = this.#context.homeDoorOf(item)
    const { gateDownMs } = this.#context
    const wanted = planItem(sale, item, home, nowMs, health, { gateDownMs, backMs: this.#backMs(item.id) })
    if (wanted !== 'compact') this.#scattered.delete(item.id)
    const plan = wanted === 'compact' && !(await this.#allRenewed(item.id)) ? 'sync' : wanted
    switch (plan) {
      case 'rest':
        break
      case 'sync':
        if (health.kind === 'there') {
          const { status } = health
          const isShown = status === undefined || shows(status, sale)
          // Once more when it is shown again: what was missing is then forgotten.
          if (status !== undefined && (!isShown || this.#unsynced.has(item.id)))
            toSync.push(() => this.#repeatState(sale, item, status))
          if (isShown) this.#unsynced.delete(item.id)
          else this.#unsynced.add(item.id)
        }
        break
      case 'rebuild':
      case 'compact':
        due.push(() => this.#begin(item.id, () => this.#rebuild(sale, item, plan === 'compact')))
        break
      case 'without_gate':
      case 'behind_ledger':
        due.push(() => this.#begin(item.id, () => this.#withoutGate(sale, item, home)))
    }
    const kept = plan === 'sync' || (plan === 'rest' && isOver(sale, nowMs))
    return home !== 'gate' || (kept && health.kind === 'there')
  }

  /**
   * A rebuild waits for every process (E4), for one that has died until its lease lapses, and nothing is sold meanwhile. Compacting is no
   * emergency: it begins when every process that has a lease has renewed it since.
   */
  async #allRenewed(item: ItemId): Promise<boolean> {
    const { firstEndMs, lastEndMs } = await this.#context.nodes.holding()
    if (firstEndMs === undefined || lastEndMs === undefined) return true
    const sinceMs = this.#scattered.get(item)
    if (sinceMs === undefined) this.#scattered.set(item, lastEndMs)
    return sinceMs !== undefined && firstEndMs > sinceMs
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
          { event: 'gate_task_failed', item, code: error.code, err: error },
          'gate task not finished; the next round starts over',
        )
      else this.#bug ??= { error }
    }
  }

  async #rebuild(sale: Sale, item: Item, compact: boolean): Promise<void> {
    const { clock, log, meters, onDoorSet } = this.#context
    const startedMs = clock.elapsed()
    if (compact)
      log.info(
        { event: 'shards_collapsed', item: item.id, shards: item.shards },
        'few units left: the gate is built anew with one shard',
      )
    meters.count('rebuilds', 'begun')
    meters.count('door_turns', 'draining')
    let epoch: Epoch | undefined
    try {
      const beforeOpening = (own: Epoch) => this.#beforeOpening(sale, item, own)
      epoch = await rebuildGate(this.#context, item.id, compact, beforeOpening)
    } finally {
      meters.count('rebuilds', epoch === undefined ? 'failed' : 'done')
    }
    const tookMs = Math.round(clock.elapsed() - startedMs)
    if (epoch === undefined) {
      log.warn(
        { event: 'gate_not_opened', sale: sale.id, item: item.id, tookMs },
        'gate not opened; the next round starts over',
      )
      return
    }
    meters.time('rebuild', clock.elapsed() - startedMs)
    meters.count('door_turns', 'gate')
    log.info({ event: 'item_on_sale', sale: sale.id, item: item.id, epoch, tookMs }, 'item on sale')
    onDoorSet()
  }

  /** Warm, and as the ledger has it now: an operator may have moved the sale since the snapshot. */
  async #beforeOpening(sale: Sale, item: Item, epoch: Epoch): Promise<void> {
    const { gate, sales, statusOf } = this.#context
    if (item.epoch === 0) await this.#prepareOnce(sale.id)
    const now = await sales.state(sale.id)
    const status = await statusOf(item.id)
    if (now === undefined || status === undefined || shows(status, now)) return
    const done = await gate.set(item.id, epoch, windowStateOf(now))
    if (done.status === 'done') return
    throw new Fault('gate_not_told', `item ${item.id}: the gate did not take the sale's state`, { retryable: true })
  }

  /** Once for all items of a sale that are built together. */
  #prepareOnce(sale: SaleId): Promise<void> {
    let preparing = this.#preparing.get(sale)
    if (preparing === undefined) {
      preparing = this.#mayPrepare.run(this.#context.prepare).finally(() => this.#preparing.delete(sale))
      this.#preparing.set(sale, preparing)
    }
    return preparing
  }

  async #withoutGate(sale: Sale, item: Item, home: Door): Promise<void> {
    const { meters, onDoorSet, log } = this.#context
    meters.count('door_turns', 'draining')
    const isTrusted = this.#fallsOf(item.id).times < FLAPS_TRUSTED
    const door = await sellWithoutGate(this.#context, item, home, isTrusted, epoch => {
      this.#fell(item.id)
      return openGate(this.#context, item.id, epoch, false, own => this.#beforeOpening(sale, item, own))
    })
    if (door === undefined) return
    meters.count('door_turns', door)
    if (door === 'gate')
      log.info(
        { event: 'gate_back_early', sale: sale.id, item: item.id },
        'the gate came back before it was done without; item on sale',
      )
    else if (home === 'gate') this.#fell(item.id)
    onDoorSet()
  }

  /**
   * What lapsed processes had reserved before the oldest entry that still waits is in the ledger. `nowMs` was read before the outbox is:
   * what is written there since is younger. Only when the gate has everything it should have: an outbox that was lost is empty too. An entry
   * from the future was dated by a wrong clock: its age can't be told. Each item by itself: one whose gate is away, or whose entries wait,
   * must not shut the doors of the others at the next outage (E10).
   * @param isAll these are all items behind the gate's door: then the processes are settled as a whole
   */
  async #settleNodes(items: readonly Item[], isAll: boolean, nowMs: number): Promise<void> {
    const { clock, outbox, nodes } = this.#context
    if (clock.elapsed() - this.#settledMs < SETTLE_EVERY_MS) return
    this.#settledMs = clock.elapsed()
    if ((await nodes.holding()).unsettled === 0) return
    const read = () => outbox.depth(items.map(({ id }) => id))
    const depths = await onFault(read, () => undefined)
    if (depths === undefined) return
    const settled = depths
      .filter(({ oldestMs = nowMs }) => oldestMs <= nowMs + SETTLE_MARGIN_MS)
      .map(({ item, oldestMs = nowMs }) => ({
        item,
        beforeMs: Math.floor(Math.min(nowMs, oldestMs) - SETTLE_MARGIN_MS),
      }))
    if (settled.length === 0) return
    const firstMs = settled.reduce((least, { beforeMs }) => Math.min(least, beforeMs), nowMs)
    if (isAll && settled.length === items.length) await nodes.settle(firstMs)
    await nodes.settleItems(settled)
  }
}
