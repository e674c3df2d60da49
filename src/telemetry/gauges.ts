/**
 * Gauges: values that are read when Prometheus asks, instead of being counted: units by where they are, queue depth, the process itself.
 * A gauge whose source fails, even by a bug, is left out of the answer; the others are shown. Sources that cost the ledger a query are read at most every
 * two seconds, and less often the longer the query takes, however often Prometheus asks: the metrics port may be open to a whole network,
 * and a sale may have a million orders to count.
 */

import { readdirSync } from 'node:fs'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Meters } from '../base/meters.ts'
import type { OutageLog } from '../base/outage-log.ts'
import type { PlainMetric } from './plain-metric.ts'

/** Over all items on sale. Units in pending and paid orders are those of the ledger, held and left those of the gate. */
export interface Units {
  readonly available: number
  readonly left: number
  readonly held: number
  readonly pending: number
  readonly paid: number
  /** Returned in the ledger and not yet in the gate, and how long the oldest of them has waited. */
  readonly releasing: number
  readonly oldestReleaseMs: number
}

/** Reserved at the gate, not in the ledger yet. */
export interface OutboxBacklog {
  /** Of the outboxes that answered; undefined when none did. `oldestMs`: the age of the oldest entry, 0 without entries. */
  readonly seen: { readonly entries: number; readonly units: number; readonly oldestMs: number } | undefined
  /** Items whose outbox did not answer, or answered in part; `seen` is without the missing part. */
  readonly itemsAway: number
}

/** Of one payment provider; times are unix ms, 0: never. */
interface ProviderGauges {
  readonly provider: string
  readonly silent: boolean
  readonly succeededAtMs: number
  readonly calledBackAtMs: number
  readonly forged: number
  readonly started: number
  readonly refundsDue: number
  readonly refundsStuck: number
}

export interface GaugeSources {
  /** May fail with a fault. */
  units(): Promise<Units>
  itemsOnSale(): number
  /** Asks that wait before the gate, all items together. */
  queueDepth(): number
  /** Reservations that the ledger has not confirmed yet. */
  unsettled(): number
  pool(): { readonly total: number; readonly idle: number; readonly waiting: number }
  sockets(): number
  ready(): boolean
  /** When reconciliation last went through all it had to, in unix ms. Undefined: this process does none. */
  reconciledAtMs?(): number | undefined
  /** Open payments whose provider is not configured here. */
  unconfigured?(): Promise<number>
  /** How each payment provider answers, over all processes. */
  providers?(): Promise<readonly ProviderGauges[]>
  /** Over all items on sale. Absent without an outbox. */
  outbox?(): Promise<OutboxBacklog>
  /** The highest number given to an event, and how long the oldest without one has waited. Absent where none are written. */
  events?(): Promise<{ readonly newest: number; readonly waitingMs: number }>
  /** Messages of reservations that this process has to place, and the age of the oldest. Undefined: it places none from a log. */
  lag?(): { readonly messages: number; readonly oldestMs: number } | undefined
  /** Where a source's bugs are logged. */
  outageOf?(source: string): Pick<OutageLog, 'failed' | 'worked'>
}

const FRESH_MS = 2_000
/** The pause before the next reading, as a multiple of the time the last one took. */
const PAUSE_FACTOR = 20
/** A reading that took long because the ledger hung does not delay the next one for longer. */
const PAUSE_MS_MAX = 30_000
const EVENT_LOOP_EVERY_MS = 20

const UNIT_STATES = ['available', 'pending', 'paid', 'left', 'held'] as const
const POOL_STATES = ['total', 'idle', 'waiting'] as const

export function createGauges(sources: GaugeSources, clock: Clock): readonly PlainMetric[] {
  const startedAtS = clock.now() / 1000
  const units = createCachedRead(clock, () => sources.units(), sources.outageOf?.('units'))
  const outbox = createCachedRead(clock, async () => sources.outbox?.(), sources.outageOf?.('outbox'))
  const events = createCachedRead(clock, async () => sources.events?.(), sources.outageOf?.('events'))
  const unconfigured = createCachedRead(clock, async () => sources.unconfigured?.(), sources.outageOf?.('payments'))
  const providers = createCachedRead(clock, async () => sources.providers?.(), sources.outageOf?.('providers'))
  const ofProviders = (name: string, help: string, value: (figures: ProviderGauges) => number | undefined) =>
    byProvider(`stampede_payment_provider_${name}`, help, providers, value)
  const ofUnits = (name: string, help: string, value: (units: Units) => number) =>
    gauge(name, help, async () => ifKnown(await units(), value))
  const ofOutbox = (name: string, help: string, value: (backlog: OutboxBacklog) => number | undefined) =>
    gauge(name, help, async () => ifKnown(await outbox(), value))

  return [
    byState(
      'stampede_pieces',
      'Units of all items on sale, by where they are: available, pending and paid in the ledger; left and held in the gate.',
      UNIT_STATES,
      units,
    ),
    ofUnits('stampede_releases_waiting', 'Units returned in the ledger and not yet in the gate.', now => now.releasing),
    ofUnits(
      'stampede_release_waiting_seconds',
      'How long the oldest of them has waited. Above 2, promise 3 is broken.',
      now => now.oldestReleaseMs / 1000,
    ),
    ofOutbox('stampede_outbox_entries', 'Batches that wait in the outbox.', ({ seen }) => seen?.entries),
    ofOutbox('stampede_outbox_pieces', 'Units reserved there and not in the ledger yet.', ({ seen }) => seen?.units),
    ofOutbox('stampede_outbox_waiting_seconds', 'How long the oldest of these batches has waited.', ({ seen }) =>
      ifKnown(seen, ({ oldestMs }) => oldestMs / 1000),
    ),
    ofOutbox(
      'stampede_outbox_items_away',
      'Items whose outbox does not answer, or only in part: the three figures above are without them.',
      ({ itemsAway }) => itemsAway,
    ),
    gauge(
      'stampede_kafka_lag_messages',
      'Messages of reservations in this worker’s partitions that are not placed yet.',
      () => sources.lag?.()?.messages,
    ),
    gauge('stampede_kafka_lag_seconds', 'How long ago the oldest of them was sent.', () =>
      ifKnown(sources.lag?.(), ({ oldestMs }) => oldestMs / 1000),
    ),
    gauge(
      'stampede_payments_unconfigured',
      'Open payments, refunds that are due among them, whose provider is not configured in this process.',
      unconfigured,
    ),
    ofProviders('silent', '1 while the provider does not answer, else 0. All processes.', one => Number(one.silent)),
    ofProviders('last_success_timestamp_seconds', 'When it last did what it was asked for, in unix time.', one =>
      one.succeededAtMs === 0 ? undefined : one.succeededAtMs / 1000,
    ),
    ofProviders('last_callback_timestamp_seconds', 'When its last genuine callback came, in unix time.', one =>
      one.calledBackAtMs === 0 ? undefined : one.calledBackAtMs / 1000,
    ),
    ofProviders('callbacks_forged', 'Callbacks in its name whose signature does not fit.', one => one.forged),
    ofProviders('payments_open', 'Payments there whose outcome is not known yet.', one => one.started),
    ofProviders('refunds_due', 'Refunds and parts of them that it has not confirmed.', one => one.refundsDue),
    ofProviders('refunds_stuck', 'Those of them that were tried more often than usual.', one => one.refundsStuck),
    gauge('stampede_events_newest', 'The highest number that an event has: how many there have been.', async () =>
      ifKnown(await events(), ({ newest }) => newest),
    ),
    gauge(
      'stampede_events_waiting_seconds',
      'How long the oldest event without a number has waited for one. The leader gives numbers five times a second: above a few seconds none leads, or it fails.',
      async () => ifKnown(await events(), ({ waitingMs }) => waitingMs / 1000),
    ),
    gauge('stampede_items_on_sale', 'Items this process is selling.', () => sources.itemsOnSale()),
    gauge('stampede_line_depth', 'Asks that wait before the gate, all items together.', () => sources.queueDepth()),
    gauge('stampede_unsettled', 'Reservations that the ledger has not confirmed yet.', () => sources.unsettled()),
    gauge('stampede_ready', '1 while this process may take traffic, else 0.', () => (sources.ready() ? 1 : 0)),
    gauge(
      'stampede_reconciled_timestamp_seconds',
      'When this keeper last compared gate and ledger of all sales that were due, or began to keep, in unix time. The highest is that of the acting one.',
      () => ifKnown(sources.reconciledAtMs?.(), ms => ms / 1000),
    ),
    gauge('stampede_sockets', 'Open WebSockets.', () => sources.sockets()),
    byState(
      'stampede_database_connections',
      'Connections to the ledger in the pool, and requests that wait for one.',
      POOL_STATES,
      async () => sources.pool(),
    ),
    {
      ...gauge('stampede_process_cpu_seconds_total', 'Processor time used, user and system.', () => {
        const { user, system } = process.cpuUsage()
        return (user + system) / 1e6
      }),
      type: 'counter',
    },
    gauge('stampede_process_resident_memory_bytes', 'Resident memory of the process.', () => process.memoryUsage().rss),
    gauge('stampede_process_heap_used_bytes', 'Memory in use by objects.', () => process.memoryUsage().heapUsed),
    gauge('stampede_process_open_handles', 'Open files, sockets and pipes (Linux only).', openHandles),
    gauge('stampede_process_start_time_seconds', 'When the process began to count, in unix time.', () => startedAtS),
  ]
}

/**
 * How late the event loop is: asks for a timer again and again; every request waits at least as long as the timer is late. Timers are
 * precise to about a millisecond. Resolves when the signal has stopped it.
 */
export async function watchEventLoop(clock: Clock, meters: Meters, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const askedAtMs = clock.elapsed()
    await clock.sleep(EVENT_LOOP_EVERY_MS, signal)
    const lateMs = clock.elapsed() - askedAtMs - EVENT_LOOP_EVERY_MS
    if (!signal.aborted) meters.time('event_loop_delay', Math.max(0, lateMs))
  }
}

function gauge(name: string, help: string, read: () => number | undefined | Promise<number | undefined>): PlainMetric {
  const values = async () => ifKnown(await read(), value => [{ labels: {}, value }]) ?? []
  return { name, help, type: 'gauge', labels: {}, read: values }
}

function byState<S extends string>(
  name: string,
  help: string,
  states: readonly S[],
  read: () => Promise<Readonly<Record<S, number>> | undefined>,
): PlainMetric {
  const values = async () =>
    ifKnown(await read(), now => states.map(state => ({ labels: { state }, value: now[state] }))) ?? []
  return { name, help, type: 'gauge', labels: { state: states }, read: values }
}

function byProvider<T extends { readonly provider: string }>(
  name: string,
  help: string,
  read: () => Promise<readonly T[] | undefined>,
  value: (figures: T) => number | undefined,
): PlainMetric {
  const shown = (one: T) => ifKnown(value(one), known => [{ labels: { provider: one.provider }, value: known }]) ?? []
  const values = async () => (await read())?.flatMap(shown) ?? []
  return { name, help, type: 'gauge', labels: { provider: 'as in PAYMENT_PROVIDERS' }, read: values }
}

function ifKnown<T, R>(value: T | undefined, use: (value: T) => R): R | undefined {
  return value === undefined ? undefined : use(value)
}

/** One reading at a time, shared by all callers until the next is due. Undefined while the source fails. */
function createCachedRead<T>(
  clock: Clock,
  read: () => Promise<T>,
  outage: Pick<OutageLog, 'failed' | 'worked'> | undefined,
): () => Promise<T | undefined> {
  let answer: Promise<T | undefined> | undefined
  let dueMs = Number.NEGATIVE_INFINITY
  return () => {
    const askedAtMs = clock.elapsed()
    if (answer === undefined || askedAtMs >= dueMs) {
      dueMs = Number.POSITIVE_INFINITY
      answer = read().then(
        value => {
          const tookMs = clock.elapsed() - askedAtMs
          dueMs = askedAtMs + Math.max(FRESH_MS, tookMs + Math.min(tookMs * PAUSE_FACTOR, PAUSE_MS_MAX))
          outage?.worked()
          return value
        },
        (error: unknown) => {
          // A source that failed may be back at once, so no pause is added.
          dueMs = Math.max(askedAtMs + FRESH_MS, clock.elapsed())
          if (!(error instanceof Fault)) outage?.failed(error)
          return undefined
        },
      )
    }
    return answer
  }
}

function openHandles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}
