/**
 * What a process knows of the items on sale, kept fresh: epoch and door from the ledger's primary, stock and window from the gate. One
 * round every 250 ms. It feeds the registry, the gate cache and the fence (E2: counted from when the read of the ledger was sent; nothing
 * read from the gate renews it).
 *
 * The ledger shows all items. The gate is asked for those that clicks ask about or messages tell of, for those that it has not shown
 * yet, and for a few others in turn: an item where nothing happens costs nothing.
 *
 * The two halves of a round do not wait for each other beyond their bounds: a gate that does not answer leaves the fence alone, and a
 * ledger that does not answer lets it lapse. An answer that comes late still counts, unless a later one was there before it.
 *
 * A read where nothing has changed costs nothing per item: the ledger's list is the same object as before, and one mark says for all entries
 * of the registry when they were last shown.
 *
 * When the ledger shows another epoch or door, the entry of the registry is replaced in the same turn, so that nothing is acknowledged under
 * the old one any more. What was acknowledged under it is handed over (E6); then, when none of its batches is at the gate any more, the
 * process confirms: "seen this epoch, nothing older held" (E4).
 */

import type { Clock } from '../../base/clock.ts'
import { atMost } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { Alarm, Log } from '../../base/log.ts'
import { OutageLog } from '../../base/outage-log.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate, GateStatusReply } from '../../gate/gate.ts'
import type { GateCache } from '../../gate/local-view.ts'
import type { Sales } from '../../ledger/sales.ts'
import type { LiveItem, Registry, Seen } from '../sell/live-item.ts'
import { createClockComparison } from './clock-comparison.ts'
import type { Confirming } from './confirm-epochs.ts'

interface FollowContext {
  readonly sales: Pick<Sales, 'followed'>
  readonly gate: Pick<Gate, 'status'>
  readonly cache: Pick<GateCache, 'seen' | 'clockSeen' | 'drop' | 'reloadFilters' | 'wanted' | 'onCold'>
  readonly registry: Registry
  readonly clock: Clock
  readonly defer: (fn: () => void) => void
  readonly log: Log
  readonly alarm: Alarm<'gate_clock_skew'>
  /** An entry for what the ledger shows, with the seller of its door. */
  readonly makeLiveItem: (sale: Sale, item: Item, skewed: boolean, seen: Seen) => LiveItem
  readonly confirming: Confirming
  /** Do clicks come here? Otherwise a gate's status is asked for once after each rebuild, and no more. */
  readonly hasClicks: boolean
  /** May this process sell at all? Without it no entry is current. */
  readonly maySell: () => boolean
  /** The registry has what the ledger shows. */
  readonly onRead: () => void
  /** An item was seen for the first time, or its sale has changed: what is known of sales elsewhere is old. */
  readonly changed: () => void
}

/** A round goes on without an answer after so long. */
const LEDGER_WAIT_MS = 1_000
const GATE_WAIT_MS = 500
/** The fence must be renewed, however long the ledger takes for a hand-over. */
const CONFIRM_WAIT_MS = 250
/** So many reads may be under way when none is answered: one hanging connection does not let the fence lapse. */
const READS_MAX = 3
/** Statuses that a round asks for though nothing is known to have happened: what a lost message told of is seen in the end. */
const ITEMS_A_ROUND = 8
/** After a start or a rebuild of many items; the server does nothing else meanwhile. */
const UNREAD_MAX = 500
/** Statuses older than this are not the gate's clock any more. */
const CLOCK_FRESH_MS = 2_000
const OUTAGE_TEXTS = {
  event: 'follow_failed',
  begins: 'follow step failed; the next round tries again',
  lasts: 'follow steps still fail',
  ends: 'follow steps succeed again',
} as const

export class Following {
  readonly #context: FollowContext
  readonly #clocks = createClockComparison()
  /** When the newest answered read of each half was sent, and how many are under way. */
  #ledgerSentAtMs = Number.NEGATIVE_INFINITY
  #gateSentAtMs = Number.NEGATIVE_INFINITY
  #ledgerReads = 0
  /** E2: shared by all entries that the reads show. */
  readonly #seen: Seen = { atMs: Number.NEGATIVE_INFINITY }
  /** What was shown last, as a whole and by sale. */
  #list: readonly Sale[] = []
  #shown: ReadonlyMap<SaleId, Sale> = new Map()
  #readAnew: number | undefined
  #gateReads = 0
  /** Of the items behind the gate's door, those whose turn is still to come. */
  #rest: ItemId[] = []
  #unreadFrom = 0
  /** Clicked on in this turn. */
  readonly #cold = new Set<ItemId>()
  #confirming: Promise<void> | undefined
  #skewReported = false
  /** By step. */
  readonly #outages = new Map<string, OutageLog>()
  /** A bug in work that no caller awaits: the next round throws it, and the process ends. */
  #bug: { readonly error: unknown } | undefined

  constructor(context: FollowContext) {
    this.#context = context
    context.cache.onCold(item => this.#askedFor(item))
  }

  async round(): Promise<void> {
    const { confirming, cache, registry, clock } = this.#context
    const ledger = this.#unattended('reading the ledger', this.#readLedger())
    const read = this.#toRead()
    const gate = this.#unattended('reading the gate', this.#readGate(read))
    await atMost(clock, LEDGER_WAIT_MS, ledger)
    await atMost(clock, GATE_WAIT_MS, gate)
    // What has come behind the gate's door just now is read in the same round.
    const known = new Set(read)
    const unread = this.#gateReads >= READS_MAX ? [] : this.#unread().filter(item => !known.has(item))
    if (unread.length > 0)
      await atMost(clock, GATE_WAIT_MS, this.#unattended('reading the gate', this.#readGate(unread)))
    this.#compareClocks()
    // Undefined: another door sells the item.
    const epochOf = (item: ItemId) => (registry.get(item)?.door === 'gate' ? registry.get(item)?.epoch : undefined)
    void this.#unattended('reloading a buyer filter', cache.reloadFilters(epochOf))
    await atMost(clock, LEDGER_WAIT_MS, this.#settle())
    this.#confirming ??= this.#unattended('handing over and confirming', confirming.round()).then(() => {
      this.#confirming = undefined
    })
    await atMost(clock, CONFIRM_WAIT_MS, this.#confirming)
    if (this.#bug !== undefined) throw this.#bug.error
  }

  /** How long ago the last read was sent that the ledger has answered. A round itself does not fail when the ledger does. */
  ledgerSilentMs(): number {
    return this.#context.clock.elapsed() - this.#ledgerSentAtMs
  }

  async #readLedger(): Promise<void> {
    if (this.#ledgerReads >= READS_MAX) return
    const { clock, cache, sales } = this.#context
    this.#ledgerReads += 1
    const sentAtMs = clock.elapsed()
    try {
      const { nowMs, sales: followed, anew } = await sales.followed()
      if (sentAtMs < this.#ledgerSentAtMs) return
      this.#ledgerSentAtMs = sentAtMs
      this.#clocks.ledger(nowMs, sentAtMs, clock.elapsed())
      if (this.#clocks.gateSilentMs(clock.elapsed()) > CLOCK_FRESH_MS) cache.clockSeen(nowMs, sentAtMs, clock.elapsed())
      this.#compareClocks()
      this.#show(followed, sentAtMs)
      // What this process wrote into a ledger that has been restored since may be lost.
      if (anew !== this.#readAnew) this.#context.confirming.again()
      this.#readAnew = anew
      this.#context.onRead()
    } finally {
      this.#ledgerReads -= 1
    }
  }

  /** @param items none: the gate is only asked for its clock. Undefined: it is not asked */
  async #readGate(items: readonly ItemId[] | undefined): Promise<void> {
    if (items === undefined) return
    const { clock, gate } = this.#context
    this.#gateReads += 1
    const sentAtMs = clock.elapsed()
    try {
      const reply = await gate.status(items)
      this.#takeClock(reply, sentAtMs)
      this.#takeStatuses(reply, sentAtMs)
    } finally {
      this.#gateReads -= 1
    }
  }

  /** Whose status this round asks for: what is wanted or new, and a few of the others, in turn. Undefined: the gate sells nothing, or too many reads are under way. */
  #toRead(): readonly ItemId[] | undefined {
    const { registry, cache } = this.#context
    if (this.#gateReads >= READS_MAX) return undefined
    const items = new Set(this.#unread())
    if (!this.#context.hasClicks) return this.#sellsAtGate() ? [...items] : undefined
    for (const item of cache.wanted()) if (registry.get(item)?.door === 'gate') items.add(item)
    if (this.#rest.length === 0) this.#rest = this.#behindGate()
    if (this.#rest.length === 0) return undefined
    for (const item of this.#rest.splice(-ITEMS_A_ROUND, ITEMS_A_ROUND)) items.add(item)
    return [...items]
  }

  #sellsAtGate(): boolean {
    for (const { door } of this.#context.registry.values()) if (door === 'gate') return true
    return false
  }

  #behindGate(): ItemId[] {
    return [...this.#context.registry.values()].filter(live => live.door === 'gate').map(live => live.item.id)
  }

  /** What the gate has not shown since it came behind its door, or since it was called stale. */
  #unread(): readonly ItemId[] {
    const items: ItemId[] = []
    for (const { door, activeAtMs, staleAtMs, item } of this.#context.registry.values()) {
      if (door !== 'gate' || (activeAtMs !== Number.NEGATIVE_INFINITY && staleAtMs === undefined)) continue
      items.push(item.id)
    }
    if (items.length <= UNREAD_MAX) return items
    // Those that the gate does not show keep none of the others from its turn.
    this.#unreadFrom = (this.#unreadFrom + UNREAD_MAX) % items.length
    return [...items.slice(this.#unreadFrom), ...items].slice(0, UNREAD_MAX)
  }

  /** A click asks about an item of which nothing was asked for a while. It alone is read now: the round reads all that are wanted. */
  #askedFor(item: ItemId): void {
    this.#cold.add(item)
    if (this.#cold.size > 1) return
    this.#context.defer(() => {
      const items = [...this.#cold].filter(id => this.#context.registry.get(id)?.door === 'gate')
      this.#cold.clear()
      const isRead = items.length > 0 && this.#gateReads < READS_MAX
      if (isRead) void this.#unattended('reading the gate', this.#readGate(items))
    })
  }

  #takeClock(reply: GateStatusReply, sentAtMs: number): void {
    const { clock, cache } = this.#context
    if (sentAtMs < this.#gateSentAtMs) return
    this.#gateSentAtMs = sentAtMs
    const answeredAtMs = clock.elapsed()
    const { clockMs = reply.nowMs, behindMs } = reply
    this.#clocks.gate(clockMs, sentAtMs, answeredAtMs, behindMs)
    this.#compareClocks()
    // A wrong clock is not learned: buyers would be refused by it. While the ledger is silent it can't be told.
    if (this.#clocks.skewedMs(answeredAtMs) === undefined) cache.clockSeen(clockMs, sentAtMs, answeredAtMs)
  }

  #takeStatuses(reply: GateStatusReply, sentAtMs: number): void {
    const { cache, registry } = this.#context
    for (const status of reply.items) {
      cache.seen(status, sentAtMs)
      const live = registry.get(status.item)
      // It is the gate that the epoch was built on after all: a reply of another had reached us.
      if (live === undefined || live.epoch !== status.epoch) continue
      live.activeAtMs = Math.max(live.activeAtMs, sentAtMs)
      this.#sellAgain(live)
    }
  }

  /** Reads of the gate and of the ledger that were sent after the entry was called stale both show its epoch. */
  #sellAgain(live: LiveItem): void {
    const { staleAtMs, seenAtMs, activeAtMs, door } = live
    if (staleAtMs === undefined || seenAtMs <= staleAtMs || !this.#context.maySell()) return
    if (door === 'gate' && activeAtMs <= staleAtMs) return
    live.staleAtMs = undefined
    live.current = true
  }

  /** In one turn: what the ledger shows is what the registry has. A sale or an item that is the same object as before has not changed. */
  #show(sales: readonly Sale[], sentAtMs: number): void {
    const beforeMs = this.#seen.atMs
    this.#seen.atMs = sentAtMs
    if (sales !== this.#list) {
      const before = this.#shown
      this.#list = sales
      this.#shown = new Map(sales.map(sale => [sale.id, sale]))
      for (const sale of sales) if (before.get(sale.id) !== sale) this.#showSale(before.get(sale.id), sale, beforeMs)
      for (const sale of before.values()) if (!this.#shown.has(sale.id)) this.#drop(sale.items)
    }
    for (const live of this.#context.confirming.withdrawn()) this.#sellAgain(live)
  }

  #showSale(before: Sale | undefined, sale: Sale, beforeMs: number): void {
    const { registry, changed } = this.#context
    if (before !== undefined && before.state !== sale.state) changed()
    const known = new Set(before?.items)
    const gone = new Map(before?.items.map(item => [item.id, item]))
    for (const item of sale.items) {
      gone.delete(item.id)
      const live = registry.get(item.id)
      if (known.has(item) && live !== undefined) live.sale = sale
      else this.#showItem(sale, item, beforeMs)
    }
    this.#drop([...gone.values()])
  }

  #drop(items: readonly Item[]): void {
    const { registry, cache, confirming } = this.#context
    for (const { id } of items) {
      const live = registry.get(id)
      if (live === undefined) continue
      live.current = false
      confirming.replaced(live)
      registry.delete(id)
      confirming.dropped(id)
      cache.drop(id)
    }
  }

  /** @param beforeMs when the read before this one was sent */
  #showItem(sale: Sale, item: Item, beforeMs: number): void {
    const { registry, confirming, changed, log } = this.#context
    const known = registry.get(item.id)
    if (known?.epoch === item.epoch && known.door === item.door) {
      known.sale = sale
      known.item = item
      known.seen = this.#seen
      return
    }
    if (known !== undefined && known.epoch > item.epoch) {
      // E2: from here no read shows the epoch of this entry.
      known.seen = { atMs: Math.min(known.seen.atMs, beforeMs) }
      log.error(
        { event: 'older_epoch', item: item.id, seen: known.epoch, shown: item.epoch },
        'the ledger shows an older epoch than before: ignored. Was it restored from a backup while this process ran?',
      )
      return
    }
    if (known !== undefined) {
      known.current = false
      confirming.replaced(known)
    }
    const skewed = item.door === 'gate' && this.#skewReported
    const live = this.#context.makeLiveItem(sale, item, skewed, this.#seen)
    registry.set(item.id, live)
    // Not current though its door sells: later reads may show that this process may sell it.
    if (!live.current && (item.door === 'gate' || item.door === 'ledger')) live.staleAtMs = this.#seen.atMs
    confirming.added(live)
    changed()
    log.debug(
      { event: 'item_followed', sale: sale.id, item: item.id, epoch: item.epoch, door: item.door },
      'item followed',
    )
  }

  /** What a seller holds without an answer of the ledger is placed again. */
  async #settle(): Promise<void> {
    const unsettled = [...this.#context.registry.values()].filter(live => live.unsettled.size > 0)
    await Promise.all(unsettled.map(live => this.#unattended('placing again', live.seller.settle())))
  }

  /** The window is judged by the gate's clock; more than a second off the ledger's, nothing behind that door is sold. */
  #compareClocks(): void {
    const { registry, clock, alarm, log } = this.#context
    const aheadMs = this.#clocks.skewedMs(clock.elapsed())
    const skewed = aheadMs !== undefined
    // An entry that is made meanwhile is told when it is made.
    if (skewed !== this.#skewReported)
      for (const live of registry.values()) if (live.door === 'gate') live.skewed = skewed
    if (skewed && !this.#skewReported) {
      alarm('gate_clock_skew', { aheadMs })
      log.error(
        { event: 'clocks_disagree', aheadMs },
        "the gate's clock and the ledger's disagree: nothing is sold until both are set right",
      )
    }
    if (!skewed && this.#skewReported)
      log.info({ event: 'clocks_agree' }, "the gate's clock and the ledger's agree again")
    this.#skewReported = skewed
  }

  /** A fault is logged and left to the next round; a bug is kept for it. Never rejects. */
  #unattended(what: string, work: Promise<unknown>): Promise<void> {
    const outage = this.#outages.get(what) ?? new OutageLog(this.#context, { what }, OUTAGE_TEXTS)
    this.#outages.set(what, outage)
    return work.then(
      () => outage.worked(),
      (error: unknown) => {
        if (error instanceof Fault) outage.failed(error)
        else this.#bug ??= { error }
      },
    )
  }
}
