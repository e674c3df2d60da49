/**
 * What a process of a cluster knows of the items on sale, kept fresh: epoch and door from the ledger's primary, stock and window from the
 * gate. One round every 250 ms, in every process. It feeds the shelf, the far gate and the fence (E2: counted from when the read of the
 * ledger was sent; nothing read from the gate renews it).
 *
 * The two halves of a round do not wait for each other beyond their bounds: a gate that does not answer leaves the fence alone, and a
 * ledger that does not answer lets it lapse. An answer that comes late still counts, unless a later one was there before it.
 *
 * When the ledger shows another epoch or door, the entry on the shelf is replaced in the same turn, so that nothing is acknowledged under
 * the old one any more. What was acknowledged under it is handed over (E6); then, when none of its batches is at the gate any more, the
 * process confirms: "seen this epoch, nothing older held" (E4).
 *
 * States of a followed item: unseen → (door gate | ledger) current ⇄ stale (the gate said so; until a later look shows it active again)
 *   → replaced (another epoch or door) … → gone (the ledger does not list it any more).
 */

import { createBatcher } from '../../base/batcher.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Ask, Gate, GateStatus, GateStatusReply, Lanes } from '../../gate/gate.ts'
import type { GateCache } from '../../gate/gate-cache.ts'
import type { Sales } from '../../ledger/sales.ts'
import { windowStateOf } from '../keep/sync-state.ts'
import { BUSY, type Decision, type Followed, isFollowed, type LiveItem, type Registry } from '../sell/live-item.ts'
import { createQueues } from '../sell/queues.ts'
import { createClockComparison } from './clock-comparison.ts'
import { type ConfirmParts, createConfirming } from './confirm-epochs.ts'

interface FollowParts {
  readonly sales: Pick<Sales, 'followed'>
  readonly gate: Pick<Gate, 'status'>
  readonly far: GateCache
  /** How the gate's asks of an item are queued. Undefined: in one queue. */
  readonly lanes?: (item: ItemId, epoch: Epoch) => Lanes
  readonly registry: Registry
  readonly clock: Clock
  readonly log: Log
  readonly alarm: (what: 'gate_clock_skew', fields: Readonly<Record<string, unknown>>) => void
  /** What the lines of items behind the gate's door and behind the ledger's run. Undefined: this process takes no orders. */
  readonly sell:
    | {
        readonly reserve: (liveItem: Followed, asks: readonly Ask[]) => Promise<readonly Decision[]>
        readonly place: (liveItem: Followed, asks: readonly Ask[]) => Promise<readonly Decision[]>
      }
    | undefined
  /** Undefined: this process never holds what is not in the ledger. */
  readonly confirm: ConfirmParts | undefined
  /** An item was seen for the first time, or its sale has changed: whatever is known of sales elsewhere is old. */
  readonly changed: () => void
  readonly batchMax: number
  readonly queueMax: number
  readonly defer: (fn: () => void) => void
}

export interface Following {
  round(): Promise<void>
  /** The gate said `stale` under this entry's epoch: nothing is acknowledged under it until a look shows it again, and it is handed over. */
  stale(liveItem: Followed): void
  /** How long ago the last read was sent that the ledger has answered. A round itself does not fail when the ledger does. */
  ledgerSilentMs(): number
}

/** A round goes on without an answer after so long. */
const LEDGER_WAIT_MS = 1_000
const GATE_WAIT_MS = 500
/** So many reads may be under way when none is answered: one hanging connection does not let the fence lapse. */
const READS_MAX = 3
/** Looks older than this are not the gate's clock any more. */
const CLOCK_FRESH_MS = 2_000

export function createFollowing(parts: FollowParts): Following {
  const { clock, registry, far, log } = parts
  const clocks = createClockComparison()
  const confirming = createConfirming(parts.confirm, parts)
  let readSentAtMs = Number.NEGATIVE_INFINITY
  let lookSentAtMs = Number.NEGATIVE_INFINITY
  let reading = 0
  let looking = 0
  let skewTold = false
  /** A bug in something that nobody waited for: the next round throws it, and the process ends. */
  let bug: { readonly error: unknown } | undefined

  async function readLedger(): Promise<void> {
    if (reading >= READS_MAX) return
    reading += 1
    const sentAtMs = clock.elapsed()
    try {
      const { nowMs, sales } = await parts.sales.followed()
      if (sentAtMs < readSentAtMs) return
      readSentAtMs = sentAtMs
      clocks.ledger(nowMs, sentAtMs, clock.elapsed())
      if (clocks.gateSilentMs(clock.elapsed()) > CLOCK_FRESH_MS) far.clockSeen(nowMs, sentAtMs, clock.elapsed())
      show(sales, sentAtMs)
    } finally {
      reading -= 1
    }
  }

  async function lookAtGate(): Promise<void> {
    const items = [...registry.values()].filter(one => one.door === 'gate').map(one => one.item.id)
    if (items.length === 0 || looking >= READS_MAX) return
    looking += 1
    const sentAtMs = clock.elapsed()
    try {
      const reply = await parts.gate.status(items)
      if (sentAtMs >= lookSentAtMs) takeLooks(reply, sentAtMs)
    } finally {
      looking -= 1
    }
  }

  function takeLooks(reply: GateStatusReply, sentAtMs: number): void {
    lookSentAtMs = sentAtMs
    const answeredAtMs = clock.elapsed()
    const { clockMs = reply.nowMs, behindMs } = reply
    clocks.gate(clockMs, sentAtMs, answeredAtMs, behindMs)
    compareClocks()
    // A wrong clock is not learned: buyers would be sent away by it. While the ledger is silent nobody can tell.
    if (clocks.skewedMs(answeredAtMs) === undefined) far.clockSeen(clockMs, sentAtMs, answeredAtMs)
    for (const look of reply.items) {
      far.seen(look, sentAtMs)
      const liveItem = registry.get(look.item)
      // It is the gate that the epoch was built on after all: a reply of another had reached us.
      if (
        isFollowed(liveItem) &&
        liveItem.epoch === look.epoch &&
        liveItem.staleAtMs !== undefined &&
        sentAtMs > liveItem.staleAtMs
      ) {
        sellAgain(liveItem)
      }
    }
  }

  function sellAgain(liveItem: Followed): void {
    liveItem.staleAtMs = undefined
    liveItem.current = true
  }

  /** In one turn: what the ledger shows is what the shelf has. */
  function show(sales: readonly Sale[], sentAtMs: number): void {
    const listed = new Set<ItemId>()
    for (const sale of sales) {
      for (const item of sale.items) {
        listed.add(item.id)
        showItem(sale, item, sentAtMs)
      }
    }
    for (const liveItem of registry.values()) if (!listed.has(liveItem.item.id)) drop(liveItem)
  }

  function showItem(sale: Sale, item: Item, sentAtMs: number): void {
    const there = registry.get(item.id)
    if (isFollowed(there) && there.epoch === item.epoch && there.door === item.door) {
      if (there.sale.state !== sale.state) parts.changed()
      there.sale = sale
      there.item = item
      there.seenAtMs = sentAtMs
      if (there.door === 'ledger' && there.staleAtMs !== undefined && sentAtMs > there.staleAtMs) sellAgain(there)
      lookInLedger(there, sentAtMs)
      return
    }
    if (there !== undefined && there.epoch > item.epoch) {
      log.error(
        { item: item.id, seen: there.epoch, shown: item.epoch },
        'the ledger shows an epoch that is over; not believed',
      )
      return
    }
    if (isFollowed(there)) {
      there.current = false
      confirming.replaced(there)
    }
    const liveItem = follow(sale, item, sentAtMs)
    registry.set(item.id, liveItem)
    lookInLedger(liveItem, sentAtMs)
    parts.changed()
    log.info({ sale: sale.id, item: item.id, epoch: item.epoch, door: item.door }, 'item followed')
  }

  function follow(sale: Sale, item: Item, sentAtMs: number): Followed {
    const { door } = item
    const run = door === 'gate' ? parts.sell?.reserve : door === 'ledger' ? parts.sell?.place : undefined
    const liveItem: Followed = {
      sale,
      item,
      epoch: item.epoch,
      door,
      current: door === 'gate' || door === 'ledger',
      skewed: door === 'gate' && clocks.skewedMs(clock.elapsed()) !== undefined,
      retired: false,
      unsettled: new Map(),
      placing: 0,
      seenAtMs: sentAtMs,
      atGate: 0,
      staleAtMs: undefined,
      version: 1,
      line: createQueues(door === 'gate' ? parts.lanes?.(item.id, item.epoch) : undefined, parts.queueMax, queueMax =>
        createBatcher<Ask, Decision>({
          batchMax: parts.batchMax,
          queueMax,
          defer: parts.defer,
          run: async asks => (run === undefined ? asks.map(() => BUSY) : run(liveItem, asks)),
        }),
      ),
    }
    return liveItem
  }

  /** Behind the ledger's door nobody else has a look: this one is made from the row. */
  function lookInLedger(liveItem: Followed, sentAtMs: number): void {
    if (liveItem.door !== 'ledger') return
    liveItem.version += 1
    far.seen(ledgerLook(liveItem), sentAtMs)
  }

  function drop(liveItem: LiveItem): void {
    liveItem.current = false
    if (isFollowed(liveItem)) confirming.replaced(liveItem)
    registry.delete(liveItem.item.id)
    far.drop(liveItem.item.id)
  }

  /** The window is judged by the gate's clock; more than a second off the ledger's, nothing behind that door is sold. */
  function compareClocks(): void {
    const aheadMs = clocks.skewedMs(clock.elapsed())
    const skewed = aheadMs !== undefined
    for (const liveItem of registry.values()) if (liveItem.door === 'gate') liveItem.skewed = skewed
    if (skewed && !skewTold) parts.alarm('gate_clock_skew', { aheadMs })
    if (!skewed && skewTold) log.info({}, "the gate's clock and the ledger's agree again")
    skewTold = skewed
  }

  function gateEpochOf(item: ItemId): Epoch | undefined {
    const liveItem = registry.get(item)
    return liveItem?.door === 'gate' ? liveItem.epoch : undefined
  }

  /** A fault is logged and left to the next round; a bug is kept for it. Never rejects. */
  function unattended(what: string, work: Promise<unknown>): Promise<void> {
    return work.then(
      () => {},
      (error: unknown) => {
        if (error instanceof Fault)
          log.warn({ what, code: error.code, err: error }, 'failed; the next round tries again')
        else bug ??= { error }
      },
    )
  }

  async function atMost(ms: number, work: Promise<void>): Promise<void> {
    const done = new AbortController()
    await Promise.race([work, clock.sleep(ms, done.signal)])
    done.abort()
  }

  return {
    async round() {
      const unlooked = new Set([...registry.values()].filter(one => one.door === 'gate').map(one => one.item.id))
      const ledger = unattended('reading the ledger', readLedger())
      const gate = unattended('looking at the gate', lookAtGate())
      await atMost(LEDGER_WAIT_MS, ledger)
      await atMost(GATE_WAIT_MS, gate)
      // What has come behind the gate's door just now is looked at in the same round.
      if ([...registry.values()].some(one => one.door === 'gate' && !unlooked.has(one.item.id)))
        await atMost(GATE_WAIT_MS, unattended('looking at the gate', lookAtGate()))
      compareClocks()
      void unattended('reloading a buyer filter', far.reloadFilters(gateEpochOf))
      await confirming.round(unattended, atMost)
      if (bug !== undefined) throw bug.error
    },
    ledgerSilentMs: () => clock.elapsed() - readSentAtMs,
    stale(liveItem) {
      if (!liveItem.current) return
      liveItem.current = false
      liveItem.staleAtMs = clock.elapsed()
      confirming.handOverNow(liveItem)
      log.warn({ item: liveItem.item.id, epoch: liveItem.epoch }, 'this epoch may not sell here any more')
    },
  }
}

function ledgerLook({ item, sale, epoch, version }: Followed): GateStatus {
  return {
    item: item.id,
    epoch,
    version,
    left: item.available,
    held: item.units - item.available,
    // Nobody counts buyers here: no filter can be called complete, so everybody is asked about.
    buyers: Number.MAX_SAFE_INTEGER,
    ...windowStateOf(sale),
    changeNo: item.changeNo,
  }
}
