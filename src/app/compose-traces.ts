/**
 * Traces of one process, where they are on: who chooses and writes spans, the book that leads from an order to its trace, and the spans of
 * events and webhooks, which only know the order. None of it is waited for by what it tells of; what does not fit or fails is left out.
 */

import type { Clock } from '../base/clock.ts'
import { onFault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import type { Meters } from '../base/meters.ts'
import type { Random } from '../base/random.ts'
import type { TraceParent } from '../base/trace.ts'
import type { OrderId } from '../domain/ids.ts'
import type { ShopEvent } from '../domain/shop-event.ts'
import type { ClickTracer } from '../edge/traced-answer.ts'
import type { OrderTraces } from '../ledger/order-traces.ts'
import { OtlpExporter } from '../telemetry/traces/otlp-exporter.ts'
import { Tracer } from '../telemetry/traces/tracer.ts'
import type { Config } from './config/config.ts'

/** Orders that wait to be written down, and deliveries whose trace is looked for. */
const WAITING_MAX = 1_000
const LAST_MS_MAX = 1_000
/** What is collected before it is written: a statement for every batch of orders would cost as much as some orders. */
const NOTE_EVERY_MS = 100
/** Longer: an order must have been written down before it is looked for. */
const SENT_EVERY_MS = 500
const SWEEP_EVERY_MS = 60_000
/** More than come in that time. */
const SWEEP_ROWS_MAX = 10_000

interface TracingParts {
  readonly config: Config
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly meters: Meters
  readonly node: { readonly node: () => number }
  readonly ledger: { readonly orderTraces: OrderTraces }
  readonly signal: AbortSignal
}

/** What was sent to an endpoint. */
interface Sent {
  readonly event: ShopEvent
  readonly fromMs: number
  readonly toMs: number
  readonly outcome: string
}

export type Tracing = NonNullable<ReturnType<typeof openTracing>>

/** Undefined: nothing is traced. */
export function openTracing({ config, clock, random, log, meters, node, ledger, signal }: TracingParts) {
  if (config.traces === undefined) return undefined
  const { url, headers, service, sample, perSecond } = config.traces
  const resource = {
    'service.name': service,
    'service.instance.id': String(node.node()),
    'stampede.roles': config.redis === undefined ? 'all' : config.roles.join(','),
  }
  const exporter = new OtlpExporter({ url, headers, resource, clock, log, meters })
  const tracer = new Tracer({ sample, perSecond, clock, random, exporter })
  let sweptAtMs = Number.NEGATIVE_INFINITY
  const note = inBatches<readonly [OrderId, TraceParent]>(clock, NOTE_EVERY_MS, async traces => {
    await ledger.orderTraces.note(traces)
    if (clock.elapsed() - sweptAtMs < SWEEP_EVERY_MS) return
    sweptAtMs = clock.elapsed()
    await ledger.orderTraces.sweep(SWEEP_ROWS_MAX)
  })
  const sent = inBatches<Sent>(clock, SENT_EVERY_MS, some => writeSent(tracer, ledger.orderTraces, some))
  const running = exporter.run(signal)
  return {
    tracer,
    traces: { note: (order: OrderId, parent: TraceParent) => note.add([order, parent]) },
    /** An event was sent to an endpoint. */
    onSent(event: ShopEvent, fromMs: number, outcome: string): void {
      if (event.type === 'order.placed') sent.add({ event, fromMs, toMs: tracer.nowMs(), outcome })
    },
    /** What is left goes out, as far as there is time. */
    async stop(): Promise<void> {
      await Promise.race([Promise.all([note.idle(), sent.idle()]), clock.sleep(LAST_MS_MAX)])
      await atLast(clock, exporter.flush())
      await atLast(clock, running)
    },
  }
}

/** A `traceparent` counts only where a trusted proxy has sent it: anyone can write one. */
export function clickTracer(
  tracing: Tracing | undefined,
  isProxy: (peer: string) => boolean,
  peerOf: (request: Request) => string,
): ClickTracer | undefined {
  if (tracing === undefined) return undefined
  return {
    click(request) {
      const given = request.headers.get('traceparent')
      return tracing.tracer.click(given !== null && isProxy(peerOf(request)) ? given : null)
    },
  }
}

async function atLast(clock: Clock, work: Promise<void>): Promise<void> {
  await Promise.race([work, clock.sleep(LAST_MS_MAX)])
}

async function writeSent(tracer: Tracer, book: OrderTraces, sent: readonly Sent[]): Promise<void> {
  const orders = sent.flatMap(({ event }) => ('order' in event ? [event.order] : []))
  const traces = await book.find(orders.map(({ id }) => id))
  for (const { event, fromMs, toMs, outcome } of sent) {
    if (!('order' in event)) continue
    const parent = traces.get(event.order.id)
    if (parent === undefined) continue
    tracer.span(parent, 'event', event.order.placedAtMs, fromMs, { 'stampede.event': event.number })
    tracer.span(parent, 'webhook', fromMs, toMs, { 'stampede.outcome': outcome })
  }
}

/** Collects for a while, then runs; one batch is under way. A fault costs its batch; past the bound the newest are left out. */
function inBatches<T>(clock: Clock, everyMs: number, run: (batch: readonly T[]) => Promise<void>) {
  let waiting: T[] = []
  let running: Promise<void> | undefined
  async function runAll(): Promise<void> {
    while (waiting.length > 0) {
      await clock.sleep(everyMs)
      const batch = waiting
      waiting = []
      await onFault(
        () => run(batch),
        () => {},
      )
    }
  }
  return {
    add(one: T): void {
      if (waiting.length >= WAITING_MAX) return
      waiting.push(one)
      running ??= runAll().finally(() => {
        running = undefined
      })
    },
    idle: () => running ?? Promise.resolve(),
  }
}
