/**
 * The work that a process does again and again behind the buyers' backs. Each is a loop of its own, known by its name: code that makes work for a
 * loop kicks it by that name; before the loop has started a kick is not needed, because its first round sees everything.
 * What the leader does (`startKeeping`) runs in every keeper, and does nothing while another process leads.
 * A bug in a loop that orders, units or money need ends the process. One in a loop that only watches or tidies up is logged and raises an
 * alarm, and the process goes on selling.
 */

import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { type Loop, startLoop } from '../base/loop.ts'
import type { Meters } from '../base/meters.ts'
import type { Sale } from '../domain/sale.ts'
import type { CheckContext } from '../flows/check/check-context.ts'
import { reconcileSale } from '../flows/check/reconcile.ts'
import { createLiveReconciler } from '../flows/check/reconcile-live.ts'
import { createSaleSettler } from '../flows/check/settle-over-sales.ts'
import type { Messages } from '../flows/follow/messages.ts'
import { OrderCloser } from '../flows/money/close-orders.ts'
import { LateCancels } from '../flows/money/late-cancels.ts'
import type { MoneyContext } from '../flows/money/money-context.ts'
import { PartSender } from '../flows/money/refund-orders.ts'
import { releaseUnits } from '../flows/money/release-units.ts'
import { PaymentSettler } from '../flows/money/settle-payments.ts'
import { settleChanges } from '../flows/operate/change-stock.ts'
import type { OperateContext } from '../flows/operate/operate-context.ts'

/** How often a round begins, at least. */
const EVERY_MS = {
  follow: 250,
  gates: 250,
  changes: 250,
  close: 200,
  'ask-due': 200,
  release: 200,
  payments: 500,
  'refund-parts': 500,
  'late-cancels': 2_000,
  reconcile: 30_000,
  'settle-over': 2_000,
  forget: 10_000,
  place: 200,
  /** Copies of outbox entries that were lost or passed. */
  stranded: 2_000,
  orphaned: 10_000,
  'look-for': 1_000,
  /** A buyer who is to wait asks again after a second: the units should be there by then. */
  moves: 200,
  archive: 10_000,
  'late-parcels': 30_000,
  events: 200,
  /** Woken when numbers were given. */
  'copy-events': 1_000,
  webhooks: 1_000,
  pages: 1_000,
  'let-in': 250,
  draws: 250,
  /** The builder itself looks once a minute. */
  indexes: 2_000,
} as const

type LoopName = keyof typeof EVERY_MS

/** Without them nothing is sold twice, lost or left unpaid. So it is with every loop that other parts bring along. */
const WATCHING: ReadonlySet<LoopName> = new Set([
  'reconcile',
  'settle-over',
  'forget',
  'archive',
  'late-parcels',
  'events',
  'copy-events',
  'webhooks',
  'pages',
  'let-in',
  'draws',
  'indexes',
])

/** What the leader does, wherever the gate is. */
export interface KeeperWork {
  readonly flows: MoneyContext & OperateContext & CheckContext
  readonly messages: Pick<Messages, 'listen'>
  /** Is every reservation of the sale in the ledger? */
  readonly allPlaced: (sale: Sale) => Promise<boolean>
  /** Moves orders of settled items into the archive. True when there is more. Undefined: it is off. */
  readonly archive: (() => Promise<boolean>) | undefined
  /** Looks for the orders of contacts that were written before them. */
  readonly sweepParcels: () => Promise<boolean>
  /** Gives events their numbers. True when there are more. Undefined: none are written. */
  readonly events: (() => Promise<boolean>) | undefined
  /** Copies events to Kafka. True when there are more. Undefined: no brokers are set. */
  readonly copyEvents: (() => Promise<boolean>) | undefined
  /** Delivers events to the shop's endpoints. */
  readonly sendWebhooks: () => Promise<unknown>
  /** Writes pages of sales as files. True when there is more. Undefined: no place for them is set. */
  readonly publishPages: (() => Promise<boolean>) | undefined
  /** Lets people in who wait in line. */
  readonly letIn: () => Promise<unknown>
  /** Seals and draws lines. */
  readonly runDraws: () => Promise<unknown>
  /** Builds the indexes that are missing on large tables. */
  readonly buildIndexes: () => Promise<unknown>
  /** Rounds that other parts bring along: their name, how often, and what they do. */
  readonly others: readonly (readonly [name: string, everyMs: number, run: () => Promise<void>])[]
}

/** Rounds that found all they could take follow at once, at most so many. */
const ROUNDS_ON_END_MAX = 20

export type Rounds = ReturnType<typeof createRounds>

interface RoundsParts {
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  readonly signal: AbortSignal
}

export function createRounds({ clock, log, meters, signal }: RoundsParts) {
  const loops: Loop[] = []
  const byName = new Map<LoopName, Loop>()
  let reconciledAtMs: number | undefined
  const onBug = () => meters.count('alarms', 'watching_failed')

  function start(name: string, everyMs: number, run: () => Promise<void>, watches: boolean): Loop {
    const started = startLoop({ name, everyMs, clock, log, signal, run, ...(watches && { onBug }) })
    loops.push(started)
    return started
  }

  const also = (name: string, everyMs: number, run: () => Promise<void>) => start(name, everyMs, run, true)

  function loop(name: LoopName, run: () => Promise<void>): Loop {
    const started = start(name, EVERY_MS[name], run, WATCHING.has(name))
    byName.set(name, started)
    return started
  }

  function startKeeping(work: KeeperWork, maySell: () => boolean): void {
    const lead = (name: LoopName, run: () => Promise<unknown>) =>
      loop(name, async () => {
        if (maySell()) await run()
      })
    /** Again at once for as long as there is more. */
    const leadOn = (name: LoopName, run: () => Promise<boolean>) =>
      loop(name, async () => {
        for (let i = 0; i < ROUNDS_ON_END_MAX && maySell() && !signal.aborted; i++) if (!(await run())) return
      })
    const { flows, messages, allPlaced, archive, events, copyEvents, publishPages } = work
    const closer = new OrderCloser(flows)
    const payments = new PaymentSettler(flows)
    const parts = new PartSender(flows)
    const lateCancels = new LateCancels(flows)
    const reconcile = (sale: Sale) => reconcileSale(flows, sale)
    const settler = createSaleSettler({ ...flows, reconcile, allPlaced })
    lead('changes', () => settleChanges(flows, undefined))
    for (const other of work.others) also(...other)
    leadOn('release', () => releaseUnits(flows))
    leadOn('payments', () => payments.round())
    leadOn('refund-parts', () => parts.round())
    leadOn('late-cancels', () => lateCancels.round())
    leadOn('close', () => closer.sweep())
    leadOn('ask-due', () => closer.ask())
    const compare = createLiveReconciler(flows, messages)
    reconciledAtMs = clock.now()
    lead('reconcile', async () => {
      await compare()
      reconciledAtMs = clock.now()
    })
    lead('settle-over', () => settler.round())
    if (archive !== undefined) leadOn('archive', archive)
    leadOn('late-parcels', work.sweepParcels)
    if (events !== undefined) leadOn('events', events)
    if (copyEvents !== undefined) leadOn('copy-events', copyEvents)
    lead('webhooks', work.sendWebhooks)
    if (publishPages !== undefined) leadOn('pages', publishPages)
    lead('indexes', work.buildIndexes)
    lead('let-in', work.letIn)
    lead('draws', work.runDraws)
  }

  return {
    loops,
    loop,
    also,
    startKeeping,
    /** When the last whole round of reconciliation ended here, or keeping began, in unix ms. Undefined: this process does not keep. */
    reconciledAtMs: () => reconciledAtMs,
    kick: (name: LoopName) => byName.get(name)?.kick(),
    /** A whole round that begins after this call, if the loop runs. Rejects as that round does. */
    async roundOf(name: LoopName): Promise<void> {
      await byName.get(name)?.round()
    },
  }
}
