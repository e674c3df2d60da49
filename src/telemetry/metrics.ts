/**
 * All metrics in Prometheus' text format: the counters and timings of `base/meters.ts`, kept as plain numbers, and the gauges.
 * Every name begins with `stampede_`; every label comes from a closed list (routes by template, statuses by class).
 * Counting never waits and never fails; gauges are read when Prometheus asks.
 */

import { Registry } from 'prom-client'
import type { Clock } from '../base/clock.ts'
import {
  COUNTED,
  type Counted,
  type CountFamily,
  type Meters,
  type RouteMeter,
  SIZED,
  type Sized,
  TIMED,
  type Timed,
} from '../base/meters.ts'
import { createGauges, type GaugeSources } from './gauges.ts'
import { LATENCY_MS, PlainHistogram, type PlainMetric, register, SIZES, WAITS_MS } from './plain-metric.ts'

interface Metrics {
  readonly meters: Meters
  /** For the reference page. */
  readonly list: readonly PlainMetric[]
  /** Adds the gauges; called once, when all their sources exist. */
  watch(sources: GaugeSources): void
  render(): Promise<string>
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

type Labels = string | readonly [first: string, second: string] | undefined

/** Family → its name, its label (none for a single counter; two where `_` separates the values) and its help text. */
const FAMILIES: Readonly<Record<CountFamily, readonly [name: string, label: Labels, help: string]>> = {
  order_asks: ['order_asks_total', 'outcome', 'Requests for an order, by outcome.'],
  ticket_asks: ['ticket_asks_total', 'outcome', 'Requests for a ticket, by outcome.'],
  orders: ['orders_total', 'became', 'Orders: placed or refused first, then paid, closed or refunded.'],
  releases: ['releases_total', undefined, 'Closed orders whose units are back in the gate.'],
  refunds: ['refunds_total', 'step', 'Refunds, by the step they reached.'],
  callbacks_forged: ['payment_callbacks_forged_total', undefined, 'Payment callbacks with a wrong signature.'],
  reconciliation: ['reconciliation_total', 'kind', 'Differences that reconciliation found, and repairs it made.'],
  promises_broken: ['promises_broken_total', 'promise', 'Broken promises, by number. Must stay 0: page an operator.'],
  alarms: ['alarms_total', 'kind', 'Events that should never happen. Must stay 0: page an operator.'],
  hand_overs: ['hand_overs_total', undefined, 'Acknowledged orders that an edge itself handed to the ledger.'],
  gate_stale: ['gate_stale_total', undefined, 'Gate replies that refused an epoch which is not the current one.'],
  rebuilds: ['rebuilds_total', 'step', 'Rebuilds of an item in the gate from the ledger, by the step they reached.'],
  door_turns: ['door_turns_total', 'door', 'Changes of an item’s door, by the new door.'],
  messages_lost: ['messages_lost_total', 'why', 'Messages between processes: unreadable, unsaid, missed in a gap.'],
  catalog_reads: ['catalog_reads_total', ['layer', 'answer'], 'Sales read, by layer: found, not existing, not known.'],
  rate_refusals: [
    'rate_refusals_total',
    'known',
    'Refusals by limits shared by all edges: by this edge’s own count, by the shared count, or by this edge’s part alone while the shared count was unreachable.',
  ],
  rate_questions: [
    'rate_questions_total',
    'kind',
    'Keys counted together with the other edges, and questions that got no answer.',
  ],
  sockets_opened: ['sockets_opened_total', undefined, 'WebSockets opened.'],
  sockets_refused: ['sockets_refused_total', 'reason', 'WebSockets refused before the upgrade.'],
  sockets_closed: ['sockets_closed_total', 'reason', 'WebSockets closed, by reason.'],
}

const TIMINGS: Readonly<Record<Timed, readonly [name: string, help: string, buckets: readonly number[]]>> = {
  gate_reserve: ['gate_reserve_seconds', 'One batch at the gate.', LATENCY_MS],
  ledger_place: ['ledger_place_seconds', 'One batch placed in the ledger, COMMIT included.', LATENCY_MS],
  click_to_row: ['click_to_row_seconds', 'From joining the queue to the committed order row.', LATENCY_MS],
  event_loop_delay: ['event_loop_delay_seconds', 'How late timers fire. Requests wait as long.', LATENCY_MS],
  outbox_age: ['outbox_age_seconds', 'Age of an outbox entry when it was in the ledger.', WAITS_MS],
  rebuild: ['rebuild_seconds', 'One rebuild of an item, from raising the epoch to the open door.', WAITS_MS],
}

const BATCHES: Readonly<Record<Sized, readonly [name: string, help: string]>> = {
  order_batch: ['order_batch_size', 'Asks decided together at the gate.'],
  finder_batch: ['finder_batch_size', 'Orders read from the ledger together.'],
  place_batch: ['place_batch_size', 'Reservations that a worker placed in the ledger together.'],
}

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const
const ROUTE_LABELS = { method: 'HTTP method', route: 'template of the route, or "other"', status: CLASSES }

export function createMetrics(clock: Clock): Metrics {
  const tallies = Object.fromEntries(
    Object.entries(COUNTED).map(([family, values]) => [family, Object.fromEntries(values.map(which => [which, 0]))]),
  ) as Record<CountFamily, Record<string, number>>
  const timings = byName(TIMED, what => new PlainHistogram(TIMINGS[what][2]))
  const sizes = byName(SIZED, () => new PlainHistogram(SIZES))
  const routes: RouteTally[] = []

  const meters: Meters = {
    count<F extends CountFamily>(family: F, which: Counted[F][number], by = 1) {
      const tally: Record<string, number> = tallies[family]
      tally[which] = tally[which]! + by
    },
    time: (what, ms) => timings[what].observe(ms),
    size: (what, count) => sizes[what].observe(count),
    route(method, template) {
      const known = routes.find(one => one.labels.method === method && one.labels.route === template)
      if (known !== undefined) return known
      const tally = new RouteTally(method, template)
      routes.push(tally)
      return tally
    },
  }

  const list: PlainMetric[] = [
    ...Object.entries(FAMILIES).map(([family, row]) => counter(row, tallies[family as CountFamily])),
    ...TIMED.map(what => histogram(TIMINGS[what], timings[what], 0.001)),
    ...SIZED.map(what => histogram(BATCHES[what], sizes[what], 1)),
    {
      name: 'stampede_http_requests_total',
      help: 'Answers, by route template and class of status.',
      type: 'counter',
      labels: ROUTE_LABELS,
      read: () => routes.flatMap(route => route.counts()),
    },
    {
      name: 'stampede_http_request_seconds',
      help: 'How long answers took. One in 64 of the cheapest refusals of an order is timed, and every other answer.',
      type: 'histogram',
      labels: ROUTE_LABELS,
      read: () => routes.flatMap(route => route.timings('stampede_http_request_seconds')),
    },
  ]
  const registry = new Registry()
  for (const metric of list) register(registry, metric)
  return {
    meters,
    list,
    watch(sources) {
      for (const metric of createGauges(sources, clock)) {
        list.push(metric)
        register(registry, metric)
      }
    },
    render: () => registry.metrics(),
  }
}

/** The answers of one route, by class of status. */
class RouteTally implements RouteMeter {
  readonly labels: { readonly method: string; readonly route: string }
  readonly #counts = new Float64Array(CLASSES.length)
  /** Made on first use: most routes never answer with most classes. */
  readonly #timings: (PlainHistogram | undefined)[] = CLASSES.map(() => undefined)

  constructor(method: string, route: string) {
    this.labels = { method, route }
  }

  answered(status: number, ms: number | undefined): void {
    const i = ((status / 100) | 0) - 1
    this.#counts[i]! += 1
    if (ms === undefined) return
    this.#timings[i] ??= new PlainHistogram(LATENCY_MS)
    this.#timings[i].observe(ms)
  }

  counts() {
    return CLASSES.map((status, i) => ({ labels: { ...this.labels, status }, value: this.#counts[i]! })).filter(
      ({ value }) => value > 0,
    )
  }

  timings(name: string) {
    return CLASSES.flatMap((status, i) => this.#timings[i]?.values(name, { ...this.labels, status }, 0.001) ?? [])
  }
}

function counter(
  [name, label, help]: (typeof FAMILIES)[CountFamily],
  tally: Readonly<Record<string, number>>,
): PlainMetric {
  const labelsOf = (which: string): Readonly<Record<string, string>> => {
    if (label === undefined) return {}
    if (typeof label === 'string') return { [label]: which }
    const [one = '', two = ''] = which.split('_')
    return { [label[0]]: one, [label[1]]: two }
  }
  const all = Object.keys(tally).map(labelsOf)
  const names = Object.keys(all[0] ?? {})
  return {
    name: `stampede_${name}`,
    help,
    type: 'counter',
    labels: Object.fromEntries(names.map(one => [one, [...new Set(all.map(labels => labels[one] ?? ''))]])),
    read: () => Object.entries(tally).map(([which, value]) => ({ labels: labelsOf(which), value })),
  }
}

function histogram(
  [name, help]: readonly [string, string, ...unknown[]],
  kept: PlainHistogram,
  unit: number,
): PlainMetric {
  const full = `stampede_${name}`
  return { name: full, help, type: 'histogram', labels: {}, read: () => kept.values(full, {}, unit) }
}

function byName<K extends string, V>(names: readonly K[], make: (name: K) => V): Record<K, V> {
  return Object.fromEntries(names.map(name => [name, make(name)])) as Record<K, V>
}
