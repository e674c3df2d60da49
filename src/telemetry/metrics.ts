/**
 * The metrics: what `base/meters.ts` lists, counted in plain numbers, and what `watched.ts` looks at, shown in Prometheus' text format.
 * Every name begins with `stampede_`, every label comes from a closed list: routes by their template, statuses by their class.
 * Counting never waits and never fails; reading happens when somebody asks.
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
import { LATENCY_MS, PlainHistogram, type PlainMetric, register, SIZES, WAITS_MS } from './plain-metric.ts'
import { type Watched, watchedMetrics } from './watched.ts'

interface Metrics {
  readonly meters: Meters
  /** Every metric there is, for the reference. */
  readonly list: readonly PlainMetric[]
  /** All of them in Prometheus' text format. */
  render(): Promise<string>
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

type Labels = string | readonly [first: string, second: string] | undefined

/** Family → its name, its label (none where there is only one thing to count; two where `_` parts what is counted) and its help. */
const FAMILIES: Readonly<Record<CountFamily, readonly [name: string, label: Labels, help: string]>> = {
  order_asks: ['order_asks_total', 'outcome', 'Clicks on "buy", by what they came to.'],
  ticket_asks: ['ticket_asks_total', 'outcome', 'Requests for a ticket, by what they came to.'],
  orders: [
    'orders_total',
    'became',
    'Orders, by what they became: placed or refused first, then paid, closed or refunded.',
  ],
  releases: ['releases_total', undefined, 'Closed orders whose units the gate has back.'],
  refunds: ['refunds_total', 'step', 'Refunds, by how far they came.'],
  callbacks_forged: [
    'payment_callbacks_forged_total',
    undefined,
    'Callbacks of payment providers with a wrong signature.',
  ],
  reconciliation: ['reconciliation_total', 'kind', 'Differences that reconciliation found, and repairs it made.'],
  promises_broken: [
    'promises_broken_total',
    'promise',
    'Broken promises found, by number. Must stay 0: page somebody.',
  ],
  alarms: ['alarms_total', 'kind', 'What should never happen, and did. Must stay 0: page somebody.'],
  hand_overs: [
    'hand_overs_total',
    undefined,
    'Acknowledged orders that an edge itself handed to the ledger, because the gate may have forgotten them.',
  ],
  gate_stale: ['gate_stale_total', undefined, 'Answers of the gate that this epoch may not sell there any more.'],
  rebuilds: ['rebuilds_total', 'step', 'Rebuilds of an item in the gate from the ledger, by how far they came.'],
  door_turns: ['door_turns_total', 'door', 'Items whose door was turned, by which door now sells.'],
  messages_lost: [
    'messages_lost_total',
    'why',
    'What processes did not hear of each other in passing: not understood, not said, or a gap in the listening.',
  ],
  catalog_reads: [
    'catalog_reads_total',
    ['layer', 'answer'],
    'Sales asked for, by layer: found, known not to exist, or not known there (in the ledger: it did not answer).',
  ],
  rate_refusals: [
    'rate_refusals_total',
    'known',
    'Refusals by limits that hold over all edges: by what this edge counted itself, by what all counted together, or by its part of the limit alone while they could not be asked.',
  ],
  rate_questions: [
    'rate_questions_total',
    'kind',
    'Keys of limits that were counted together with the other edges, and how often nobody answered.',
  ],
  sockets_opened: ['sockets_opened_total', undefined, 'WebSockets opened.'],
  sockets_refused: ['sockets_refused_total', 'reason', 'WebSockets refused before the upgrade.'],
  sockets_closed: ['sockets_closed_total', 'reason', 'WebSockets closed, by why.'],
}

const TIMINGS: Readonly<Record<Timed, readonly [name: string, help: string, buckets: readonly number[]]>> = {
  gate_reserve: ['gate_reserve_seconds', 'One batch at the gate.', LATENCY_MS],
  ledger_place: ['ledger_place_seconds', 'One batch placed in the ledger, COMMIT included.', LATENCY_MS],
  click_to_row: [
    'click_to_row_seconds',
    'From the click (the ask joins the line) to its committed order row.',
    LATENCY_MS,
  ],
  event_loop_delay: [
    'event_loop_delay_seconds',
    'How much later than asked a timer fires: what every request waits at least.',
    LATENCY_MS,
  ],
  outbox_age: ['outbox_age_seconds', 'How old an entry of the outbox was when it was in the ledger.', WAITS_MS],
  rebuild: ['rebuild_seconds', 'One rebuild of an item, from the bump to the open door.', WAITS_MS],
}

const BATCHES: Readonly<Record<Sized, readonly [name: string, help: string]>> = {
  order_batch: ['order_batch_size', 'Asks decided together at the gate.'],
  finder_batch: ['finder_batch_size', 'Orders read from the ledger together.'],
  place_batch: ['place_batch_size', 'Reservations that a worker placed in the ledger together.'],
}

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

export function createMetrics(watched: Watched, clock: Clock): Metrics {
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
    time(what, ms) {
      timings[what].observe(ms)
    },
    size(what, count) {
      sizes[what].observe(count)
    },
    route(method, template) {
      const known = routes.find(one => one.labels.method === method && one.labels.route === template)
      if (known !== undefined) return known
      const tally = new RouteTally(method, template)
      routes.push(tally)
      return tally
    },
  }

  const list: PlainMetric[] = [
    ...Object.entries(FAMILIES).map(([family, definition]) => counter(definition, tallies[family as CountFamily])),
    ...TIMED.map(what => histogram(TIMINGS[what], timings[what], 0.001)),
    ...SIZED.map(what => histogram(BATCHES[what], sizes[what], 1)),
    {
      name: 'stampede_http_requests_total',
      help: 'Answers, by route template and class of status.',
      type: 'counter',
      labels: { method: 'HTTP method', route: 'template of the route, or "other"', status: CLASSES },
      read: () => routes.flatMap(route => route.counts()),
    },
    {
      name: 'stampede_http_request_seconds',
      help: 'How long answers took. Of the cheapest refusals of an order one in 64 is timed; all others are.',
      type: 'histogram',
      labels: { method: 'HTTP method', route: 'template of the route, or "other"', status: CLASSES },
      read: () => routes.flatMap(route => route.timings('stampede_http_request_seconds')),
    },
    ...watchedMetrics(watched, clock),
  ]
  const registry = new Registry()
  for (const metric of list) register(registry, metric)
  return { meters, list, render: () => registry.metrics() }
}

/** What one route was answered with, by class of status. */
class RouteTally implements RouteMeter {
  readonly labels: { readonly method: string; readonly route: string }
  readonly #counts = new Float64Array(CLASSES.length)
  /** Made when first needed: most routes are never answered with most classes. */
  readonly #timings: (PlainHistogram | undefined)[] = CLASSES.map(() => undefined)

  constructor(method: string, route: string) {
    this.labels = { method, route }
  }

  answered(status: number, ms: number | undefined): void {
    const i = ((status / 100) | 0) - 1
    this.#counts[i]! += 1
    if (ms === undefined) return
    let timing = this.#timings[i]
    if (timing === undefined) {
      timing = new PlainHistogram(LATENCY_MS)
      this.#timings[i] = timing
    }
    timing.observe(ms)
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
