/**
 * All metrics in Prometheus' text format: the counters and timings of `base/meters.ts`, kept as plain numbers, and the gauges.
 * Every name begins with `stampede_`; every label comes from a closed list (routes by template, statuses by class).
 * Counting never waits and never fails; gauges are read when Prometheus asks.
 */

import { type OpenMetricsContentType, Registry } from 'prom-client'
import type { Clock } from '../base/clock.ts'
import { COUNTED, type Counted, type CountFamily, type Meters, type RouteMeter, SIZED, TIMED } from '../base/meters.ts'
import type { TraceParent } from '../base/trace.ts'
import { createGauges, type GaugeSources } from './gauges.ts'
import { LATENCY_MS, PlainHistogram, type PlainMetric, register, SIZES, WAITS_MS } from './plain-metric.ts'

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE
export const OPEN_METRICS_CONTENT_TYPE = Registry.OPENMETRICS_CONTENT_TYPE

/** Family → its labels (none for a single counter; two where `_` separates the values) and its help text. */
const FAMILIES: Readonly<Record<CountFamily, readonly [labels: readonly string[], help: string]>> = {
  order_asks: [['outcome'], 'Requests for an order, by outcome.'],
  ticket_asks: [['outcome'], 'Requests for a ticket, by outcome.'],
  refusals: [
    ['reason'],
    'Requests that limits, lists, the risk hook, tickets, challenges and holds have turned away, whatever was called.',
  ],
  risk_asks: [
    ['outcome'],
    'Questions to the risk hook, by its answer. crowded: too many at once; resting: not asked after failures in a row.',
  ],
  hold_refusals: [['subject'], 'Orders refused because a buyer, a network or a claim holds too many units unpaid.'],
  hold_counts: [[], 'Holds that this edge counted alone, because the counts of all edges did not answer.'],
  parcels: [
    ['outcome'],
    'Orders whose contact or metadata was written beside them, or lost because the ledger did not take it.',
  ],
  challenges: [['outcome'], 'Challenges made, and what became of the solutions that came.'],
  orders: [['became'], 'Orders: placed or refused first, then paid, closed or refunded.'],
  releases: [[], 'Closed orders whose units are back in the gate.'],
  refunds: [['step'], 'Refunds, by the step they reached.'],
  payment_calls: [['call', 'outcome'], 'Calls to payment providers by this process. unreachable: no answer in time.'],
  payment_callbacks_forged: [[], 'Payment callbacks with a wrong signature.'],
  operator_tokens: [
    ['outcome'],
    'Operator tokens that were sent: accepted, wrong, or refused unseen after too many tries from one address.',
  ],
  reconciliation: [['kind'], 'Differences that reconciliation found, and repairs it made.'],
  promises_broken: [['promise'], 'Broken promises, by number. Must stay 0: page an operator.'],
  alarms: [['kind'], 'Events that should never happen. Must stay 0: page an operator.'],
  hand_overs: [[], 'Acknowledged orders that an edge itself handed to the ledger.'],
  kafka_records: [
    ['what'],
    'Messages of reservations: relayed to Kafka, placed from it, dead-lettered, of an item that is deleted, or placed while the gate was away, so that the outbox keeps the entry.',
  ],
  gate_stale: [[], 'Gate replies that refused an epoch which is not the current one.'],
  rebuilds: [['step'], 'Rebuilds of an item in the gate from the ledger, by the step they reached.'],
  door_turns: [['door'], 'Changes of an item’s door, by the new door.'],
  messages_lost: [['why'], 'Messages between processes: unreadable, unsaid, missed in a gap.'],
  catalog_reads: [['layer', 'answer'], 'Sales read, by layer: found, not existing, not known.'],
  rate_refusals: [
    ['known'],
    'Refusals by limits shared by all edges: by this edge’s own count, by the shared count, or by this edge’s part alone while the shared count was unreachable.',
  ],
  rate_questions: [['kind'], 'Keys counted together with the other edges, and questions that got no answer.'],
  webhook_tries: [['outcome'], 'Tries to deliver a webhook, by outcome. gone: the endpoint wants nothing any more.'],
  webhook_deliveries_lost: [
    ['why'],
    'Events that an endpoint did not get: given up after a day of tries (an operator can send them again), or deleted before they could be sent.',
  ],
  pages: [['what'], 'Pre-rendered pages and their files: put into the store, removed from it, and rounds that failed.'],
  page_notices: [['outcome'], 'Calls that tell a command or a CDN of changed pages, by outcome.'],
  alerts: [['outcome'], 'Tries to tell people of a trouble, by channel and outcome.'],
  trace_spans: [
    ['outcome'],
    'Spans of traces: sent to the receiver, failed with a request of it, or dropped because too many waited.',
  ],
  sockets_opened: [[], 'WebSockets opened.'],
  sockets_refused: [['reason'], 'WebSockets refused before the upgrade.'],
  sockets_closed: [['reason'], 'WebSockets closed, by reason.'],
}

/** The waits on other processes: a fence alone takes seconds. */
const WAITS: ReadonlySet<string> = new Set<keyof typeof TIMED>(['outbox_age', 'rebuild', 'payment_call'])

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const
const ROUTE_LABELS = { method: 'HTTP method', route: 'template of the route, or "other"', status: CLASSES }

export function createMetrics(clock: Clock) {
  const tallies = mapValues(COUNTED, (_, values) => Object.fromEntries(values.map(which => [which, 0])))
  const timings = mapValues(TIMED, what => new PlainHistogram(WAITS.has(what) ? WAITS_MS : LATENCY_MS))
  const sizes = mapValues(SIZED, () => new PlainHistogram(SIZES))
  const routes: RouteTally[] = []

  const meters: Meters = {
    count<F extends CountFamily>(family: F, which: Counted[F][number], by = 1) {
      const tally: Record<string, number> = tallies[family]
      tally[which] = tally[which]! + by
    },
    time: (what, ms, trace) => timings[what].observe(ms, trace, trace === undefined ? 0 : clock.now()),
    size: (what, count) => sizes[what].observe(count),
    route(method, template) {
      const known = routes.find(one => one.labels.method === method && one.labels.route === template)
      if (known !== undefined) return known
      const tally = new RouteTally(clock, method, template)
      routes.push(tally)
      return tally
    },
  }

  const list: PlainMetric[] = [
    ...entriesOf(tallies).map(([family, tally]) => counter(family, tally)),
    ...entriesOf(timings).map(([what, kept]) => histogram(`stampede_${what}_seconds`, TIMED[what], kept, 0.001)),
    ...entriesOf(sizes).map(([what, kept]) => histogram(`stampede_${what}_size`, SIZED[what], kept, 1)),
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
  const open = new Registry<OpenMetricsContentType>()
  open.setContentType(OPEN_METRICS_CONTENT_TYPE)
  const both = (metric: PlainMetric) => {
    register(registry, metric)
    register(open, metric)
  }
  for (const metric of list) both(metric)
  return {
    meters,
    /** For the reference page. */
    list: list as readonly PlainMetric[],
    /** Adds the gauges; called once, when all their sources exist. */
    watch(sources: GaugeSources) {
      for (const metric of createGauges(sources, clock)) {
        list.push(metric)
        both(metric)
      }
    },
    render: () => registry.metrics(),
    /** The same in OpenMetrics, which has a place for exemplars: traced clicks behind the latencies. */
    renderOpen: () => open.metrics(),
  }
}

/** The answers of one route, by class of status. */
class RouteTally implements RouteMeter {
  readonly #clock: Pick<Clock, 'now'>
  readonly labels: { readonly method: string; readonly route: string }
  readonly #counts = new Float64Array(CLASSES.length)
  /** Made on first use: most routes never answer with most classes. */
  readonly #timings: (PlainHistogram | undefined)[] = CLASSES.map(() => undefined)

  constructor(clock: Pick<Clock, 'now'>, method: string, route: string) {
    this.#clock = clock
    this.labels = { method, route }
  }

  answered(status: number, ms: number | undefined, trace?: TraceParent | null): void {
    const i = ((status / 100) | 0) - 1
    this.#counts[i]! += 1
    if (ms === undefined) return
    this.#timings[i] ??= new PlainHistogram(LATENCY_MS)
    this.#timings[i].observe(ms, trace, trace ? this.#clock.now() : 0)
  }

  counts() {
    const answered = this.#counts.some(count => count > 0)
    // Errors are shown from the first answer on: an increase from nothing to one is none to Prometheus.
    return CLASSES.map((status, i) => ({ labels: { ...this.labels, status }, value: this.#counts[i]! })).filter(
      ({ value, labels }) => value > 0 || (answered && labels.status === '5xx'),
    )
  }

  timings(name: string) {
    return CLASSES.flatMap((status, i) => this.#timings[i]?.values(name, { ...this.labels, status }, 0.001) ?? [])
  }
}

function counter(family: CountFamily, tally: Readonly<Record<string, number>>): PlainMetric {
  const [names, help] = FAMILIES[family]
  const labelsOf = (which: string): Readonly<Record<string, string>> => {
    const values = names.length === 1 ? [which] : which.split('_')
    return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
  }
  const all = Object.keys(tally).map(labelsOf)
  return {
    name: `stampede_${family}_total`,
    help,
    type: 'counter',
    labels: Object.fromEntries(names.map(name => [name, [...new Set(all.map(labels => labels[name] ?? ''))]])),
    read: () => Object.entries(tally).map(([which, value]) => ({ labels: labelsOf(which), value })),
  }
}

function histogram(name: string, help: string, kept: PlainHistogram, unit: number): PlainMetric {
  return { name, help, type: 'histogram', labels: {}, read: () => kept.values(name, {}, unit) }
}

function entriesOf<K extends string, V>(table: Readonly<Record<K, V>>) {
  return Object.entries(table) as [K, V][]
}

function mapValues<K extends string, V, T>(table: Readonly<Record<K, V>>, make: (key: K, value: V) => T) {
  return Object.fromEntries(entriesOf(table).map(([key, value]) => [key, make(key, value)])) as Record<K, T>
}
