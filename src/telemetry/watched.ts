/**
 * What is not counted but looked at when Prometheus asks: how many units are where, how long the line is, how the process fares.
 * Whatever can't be had is left out of the answer and does not spoil the rest. What costs the ledger something is read at most every two
 * seconds, and more seldom the longer it takes, however often somebody asks: the port may be open to everyone in the house, and a sale
 * may have a million orders to count.
 */

import { readdirSync } from 'node:fs'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { PlainMetric } from './plain-metric.ts'

/** Over all items on sale. Units in pending and paid orders are those of the ledger, held and left those of the gate. */
export interface Units {
  readonly available: number
  readonly left: number
  readonly held: number
  readonly pending: number
  readonly paid: number
  /** Back in the ledger, on their way to the gate, and how long the oldest of them has waited. */
  readonly releasing: number
  readonly oldestReleaseMs: number
}

/** Reserved at the gate, not in the ledger yet. */
export interface Waiting {
  /** Undefined: nobody answers. */
  readonly seen:
    | {
        readonly entries: number
        readonly units: number
        /** How long the oldest entry has waited; 0 when there is none. */
        readonly oldestMs: number
      }
    | undefined
  /** Items whose outbox did not answer, or not all of it: what was seen is without that. */
  readonly itemsAway: number
}

export interface Watched {
  /** May fail with a fault. */
  units(): Promise<Units>
  itemsOnSale(): number
  /** Asks waiting before the gate, all items together. */
  queueDepth(): number
  /** Reservations that the ledger has not confirmed yet. */
  unsettled(): number
  pool(): { readonly total: number; readonly idle: number; readonly waiting: number }
  sockets(): number
  ready(): boolean
  /** What waits in the outbox, over all items on sale. Absent where there is none. */
  outbox?(): Promise<Waiting>
}

const FRESH_MS = 2_000
/** As a multiple of what the last reading took; what took long because the ledger hung is not held against it for long. */
const REST = 20
const REST_MS_MAX = 30_000

export function watchedMetrics(watched: Watched, clock: Clock): readonly PlainMetric[] {
  const startedAtS = clock.now() / 1000
  const units = createFresh(clock, () => watched.units())

  const outbox = createFresh(clock, async () => watched.outbox?.())

  const gauge = (name: string, help: string, read: () => number | undefined | Promise<number | undefined>) =>
    metric('gauge', name, help, read)

  return [
    {
      name: 'stampede_pieces',
      help: 'Units of all items on sale, by where they are: available, pending and paid by the ledger; left and held by the gate.',
      type: 'gauge',
      labels: { state: ['available', 'pending', 'paid', 'left', 'held'] },
      async read() {
        const now = await units()
        if (now === undefined) return []
        const states = ['available', 'pending', 'paid', 'left', 'held'] as const
        return states.map(state => ({ labels: { state }, value: now[state] }))
      },
    },
    gauge(
      'stampede_releases_waiting',
      'Units that are back in the ledger and not yet in the gate.',
      async () => (await units())?.releasing,
    ),
    gauge(
      'stampede_release_waiting_seconds',
      'How long the oldest of them has waited. Above 2, promise 3 is broken.',
      async () => {
        const now = await units()
        return now === undefined ? undefined : now.oldestReleaseMs / 1000
      },
    ),
    gauge(
      'stampede_outbox_entries',
      'Batches that wait in the outbox of a cluster.',
      async () => (await outbox())?.seen?.entries,
    ),
    gauge(
      'stampede_outbox_pieces',
      'Units that are reserved there and not in the ledger yet.',
      async () => (await outbox())?.seen?.units,
    ),
    gauge('stampede_outbox_waiting_seconds', 'How long the oldest of these batches has waited.', async () => {
      const seen = (await outbox())?.seen
      return seen === undefined ? undefined : seen.oldestMs / 1000
    }),
    gauge(
      'stampede_outbox_items_away',
      'Items whose outbox does not answer, or not all of it: the three figures above are without them.',
      async () => (await outbox())?.itemsAway,
    ),
    gauge('stampede_items_on_sale', 'Items this process is selling.', () => watched.itemsOnSale()),
    gauge('stampede_line_depth', 'Asks that wait before the gate, all items together.', () => watched.queueDepth()),
    gauge('stampede_unsettled', 'Reservations that the ledger has not confirmed yet.', () => watched.unsettled()),
    gauge('stampede_ready', '1 while this process may take traffic, else 0.', () => (watched.ready() ? 1 : 0)),
    gauge('stampede_sockets', 'Open WebSockets.', () => watched.sockets()),
    {
      name: 'stampede_database_connections',
      help: 'Connections to the ledger in the pool, and requests that wait for one.',
      type: 'gauge',
      labels: { state: ['total', 'idle', 'waiting'] },
      read() {
        const pool = watched.pool()
        const states = ['total', 'idle', 'waiting'] as const
        return states.map(state => ({ labels: { state }, value: pool[state] }))
      },
    },
    metric('counter', 'stampede_process_cpu_seconds_total', 'Processor time used, user and system.', () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    }),
    gauge('stampede_process_resident_memory_bytes', 'Memory the process occupies.', () => process.memoryUsage().rss),
    gauge(
      'stampede_process_heap_used_bytes',
      'Memory in use by JavaScript objects.',
      () => process.memoryUsage().heapUsed,
    ),
    gauge(
      'stampede_process_open_handles',
      'Open files, sockets and pipes (where the system tells: Linux).',
      openHandles,
    ),
    gauge('stampede_process_start_time_seconds', 'When the process began to count, in unix time.', () => startedAtS),
  ]
}

function metric(
  type: 'gauge' | 'counter',
  name: string,
  help: string,
  read: () => number | undefined | Promise<number | undefined>,
): PlainMetric {
  return {
    name,
    help,
    type,
    labels: {},
    async read() {
      const value = await read()
      return value === undefined ? [] : [{ labels: {}, value }]
    },
  }
}

/** The same answer for a while, asked for by one and shared by all; undefined while whoever knows it is away. */
function createFresh<T>(clock: Clock, ask: () => Promise<T>): () => Promise<T | undefined> {
  let answer: Promise<T | undefined> | undefined
  let dueMs = Number.NEGATIVE_INFINITY
  return () => {
    const askedAtMs = clock.elapsed()
    if (answer === undefined || askedAtMs >= dueMs) {
      dueMs = Number.POSITIVE_INFINITY
      answer = ask().then(
        read => {
          const tookMs = clock.elapsed() - askedAtMs
          dueMs = askedAtMs + Math.max(FRESH_MS, tookMs + Math.min(tookMs * REST, REST_MS_MAX))
          return read
        },
        (error: unknown) => {
          // Whoever is away may be back at once.
          dueMs = Math.max(askedAtMs + FRESH_MS, clock.elapsed())
          if (error instanceof Fault) return undefined
          throw error
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
