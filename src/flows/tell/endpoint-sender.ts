/**
 * Sends the events of one endpoint: queues what is new, tries what is due, writes down what came of it. Independent of all other endpoints; at most
 * QUEUED_MAX deliveries wait for their first try at a time, however far behind it is, at most about FAILED_MAX for another one, and IN_FLIGHT_MAX
 * are tried at once.
 *
 * The order of each step makes it at least once, in order per subject, whenever the process dies: a delivery is written before the cursor is
 * behind its event (in one statement), it is tried after that, and the next of its subject only after the result is committed.
 *
 * States: new → loaded (what waits is read) → lost (another process sends, or an operator changed something: it is made anew).
 */

import type { Clock } from '../../base/clock.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { Random } from '../../base/random.ts'
import type { SpanWriter } from '../../base/trace.ts'
import type { ShopEvent } from '../../domain/shop-event.ts'
import type { SendingEndpoint, SettledTry, WebhookQueue } from '../../ledger/webhooks.ts'
import { signedHeaders } from '../../webhooks/signature.ts'
import type { PostWebhook, TryResult } from '../../webhooks/webhook.ts'
import { orderingKey, toCloudEvent } from '../../wire/events/cloud-event.ts'
import { EndpointPlan, hasFailed, type OpenDelivery } from './endpoint-plan.ts'
import type { RecentEvents } from './recent-events.ts'

export interface SendContext {
  readonly queue: WebhookQueue
  readonly post: PostWebhook
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly meters: Meters
  /** The `source` of every event. */
  readonly source: string
  /** For how long a delivery is tried. */
  readonly retryMs: number
  /** Told of every try, where clicks are traced. */
  readonly tracing?:
    | {
        readonly tracer: Pick<SpanWriter, 'nowMs'>
        onSent(event: ShopEvent, fromMs: number, outcome: string): void
      }
    | undefined
  /** Is this process the one that sends? */
  readonly maySend: () => boolean
  /** Called with what kept an endpoint from going on: its next round tries again. */
  readonly onFailed: (error: unknown) => void
}

const QUEUED_MAX = 500
/** An endpoint that refuses some events for good gets all others, until so many wait to be tried again. */
const FAILED_MAX = 5_000
/** More than can have failed: what is new is always among what is read. */
const READ_MAX = FAILED_MAX + 2 * QUEUED_MAX
const PAGE = 100
const HEADERS = { 'content-type': 'application/cloudevents+json', 'user-agent': 'Stampede-Webhooks/1' }

export class EndpointSender {
  readonly #context: SendContext
  readonly #term: number
  readonly #events: RecentEvents
  readonly #plan: EndpointPlan
  readonly #stop = new AbortController()
  readonly #open = new Map<number, OpenDelivery>()
  /** Tries with a result that is not in the ledger yet. */
  readonly #ended: { readonly one: OpenDelivery; readonly settled: SettledTry }[] = []
  readonly #flying = new Set<Promise<void>>()
  #endpoint: SendingEndpoint
  #cursor: number
  #loaded = false
  /** The ledger has more that waits than is held here. */
  #more = false
  #newest = 0
  #running: Promise<void> | undefined
  #again = false
  /** The revision under which it answered that it is gone. */
  #goneUnder: number | undefined
  #lost = false

  constructor(context: SendContext, events: RecentEvents, term: number, endpoint: SendingEndpoint) {
    this.#context = context
    this.#events = events
    this.#term = term
    this.#endpoint = endpoint
    this.#cursor = endpoint.cursor
    this.#plan = new EndpointPlan(context.random)
  }

  get lost(): boolean {
    return this.#lost
  }

  /** As the ledger has it now, and how far the events have got. A changed endpoint is read again. */
  seen(endpoint: SendingEndpoint, newest: number): void {
    if (endpoint.revision !== this.#endpoint.revision) this.#loaded = false
    this.#endpoint = endpoint
    this.#newest = newest
  }

  /** Does all that can be done now, without waiting for receivers; never rejects. A call while one runs has it look again. */
  go(): Promise<void> {
    this.#again = true
    if (this.#lost) return Promise.resolve()
    this.#running ??= this.#run()
    return this.#running
  }

  /** Tries under way go on until `signal` aborts; then they are broken off, and made again by the next sender. */
  async end(signal: AbortSignal): Promise<void> {
    this.#lost = true
    const abort = () => this.#stop.abort()
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    await Promise.all(this.#flying)
    await this.#running
    await this.#settle().catch(this.#context.onFailed)
    signal.removeEventListener('abort', abort)
  }

  async #run(): Promise<void> {
    try {
      while (this.#again && !this.#lost) {
        this.#again = false
        await this.#settle()
        if (!this.#loaded || (this.#more && this.#hasRoom(QUEUED_MAX / 2))) await this.#load()
        await this.#giveUp()
        await this.#queue()
        this.#tryDue()
      }
    } catch (error) {
      // What it has read may be half of it.
      this.#loaded = false
      this.#context.onFailed(error)
    } finally {
      // In the same turn as the last look: a call of `go` in between would be lost.
      this.#running = undefined
    }
  }

  /** For another page: of what waits for its first try, and of what has failed, each by its own bound. */
  #hasRoom(queuedMax: number): boolean {
    let failed = 0
    for (const one of this.#open.values()) if (hasFailed(one)) failed += 1
    return this.#open.size - failed + PAGE <= queuedMax && failed < FAILED_MAX
  }

  async #load(): Promise<void> {
    this.#loaded = true
    const waiting = await this.#context.queue.waiting(this.#endpoint.id, READ_MAX)
    const nowMs = this.#context.clock.elapsed()
    const flying = [...this.#open.values()].filter(one => one.inFlight)
    const known = new Map(this.#open)
    const read = waiting
      .filter(({ event }) => known.get(event)?.inFlight !== true)
      .map(({ dueInMs, giveUpInMs, ...one }) => ({
        ...one,
        dueMs: nowMs + dueInMs,
        giveUpMs: nowMs + giveUpInMs,
        triedMs: known.get(one.event)?.triedMs,
        inFlight: false,
      }))
    this.#open.clear()
    for (const one of [...flying, ...read].sort((a, b) => a.event - b.event)) this.#open.set(one.event, one)
    this.#more = waiting.length === READ_MAX
  }

  async #giveUp(): Promise<void> {
    const nowMs = this.#context.clock.elapsed()
    const isOver = (one: OpenDelivery) => !one.inFlight && hasFailed(one) && one.giveUpMs <= nowMs
    if (![...this.#open.values()].some(isOver)) return
    const { queue, meters, log } = this.#context
    const events = await queue.expire(this.#term, this.#endpoint.id)
    // One in flight keeps its subject until its result is in the ledger.
    for (const event of events) if (!this.#open.get(event)?.inFlight) this.#open.delete(event)
    if (events.length === 0) return
    meters.count('webhook_deliveries_lost', 'given_up', events.length)
    log.warn(
      { event: 'deliveries_given_up', webhook: this.#endpoint.id, deliveries: events.length },
      'webhook deliveries given up',
    )
  }

  /** New events, as long as there is room for a page of them. */
  async #queue(): Promise<void> {
    const { queue, retryMs, maySend, log, meters } = this.#context
    const { id, types } = this.#endpoint
    while (!this.#more && this.#cursor < this.#newest && this.#hasRoom(QUEUED_MAX) && maySend()) {
      const page = await this.#events.read(this.#cursor, PAGE)
      const to = page.expired ? page.oldest - 1 : page.last
      const skipped = page.expired ? to - this.#cursor : 0
      const fresh = page.events
        .map(event => ({ event: event.number, ...keyOf(event) }))
        .filter(({ type }) => types.length === 0 || types.includes(type))
      if (!(await queue.queue(this.#term, id, { from: this.#cursor, to, skipped }, fresh, retryMs))) {
        this.#lost = true
        return
      }
      const point = faultPoint('webhook.queued')
      if (point) await point
      if (skipped > 0) {
        meters.count('webhook_deliveries_lost', 'skipped', skipped)
        log.warn(
          { event: 'webhook_skips', webhook: id, events: skipped },
          'webhook skips events: they were deleted before it was reached',
        )
      }
      const nowMs = this.#context.clock.elapsed()
      const times = { dueMs: nowMs, giveUpMs: nowMs + retryMs, triedMs: undefined }
      for (const { event, subject } of fresh)
        this.#open.set(event, { event, subject, tries: 0, triesBefore: 0, ...times, inFlight: false })
      this.#cursor = to
    }
  }

  #tryDue(): void {
    if (this.#lost) return
    for (const one of this.#plan.next(this.#open.values(), this.#context.clock.elapsed())) {
      if (!this.#context.maySend()) return
      one.inFlight = true
      const flight: Promise<void> = this.#try(one).finally(() => this.#flying.delete(flight))
      this.#flying.add(flight)
    }
  }

  /** It stays in flight until its result is in the ledger. */
  async #try(one: OpenDelivery): Promise<void> {
    let result: TryResult | undefined
    const endpoint = this.#endpoint
    try {
      result = await this.#send(one, endpoint)
    } catch (error) {
      this.#context.onFailed(error)
    }
    if (result === undefined || (this.#stop.signal.aborted && result.kind === 'failed')) {
      // It was not sent, or broken off by this process: that is no try.
      one.inFlight = false
      return
    }
    this.#ended.push({ one, settled: this.#judge(one, result, endpoint.revision) })
    if (!this.#lost) void this.go()
  }

  #judge(one: OpenDelivery, { kind, ...result }: TryResult, revision: number): SettledTry {
    const { clock, meters } = this.#context
    const nowMs = clock.elapsed()
    meters.count('webhook_tries', kind)
    one.tries += 1
    one.triedMs = nowMs
    const told = { event: one.event, tries: one.tries, ...result }
    if (kind === 'delivered') {
      this.#plan.succeeded(this.#open.values(), nowMs)
      return { ...told, state: 'delivered', dueInMs: 0 }
    }
    const dueInMs = this.#plan.failed(one, nowMs, result.status !== undefined)
    // Late, from the address that it had before, it says nothing about the one it has now.
    if (kind === 'gone' && revision === this.#endpoint.revision) this.#goneUnder = revision
    const isOver = result.problem === 'event' || (kind === 'failed' && one.giveUpMs <= nowMs)
    if (isOver) meters.count('webhook_deliveries_lost', 'given_up')
    return { ...told, state: isOver ? 'failed' : 'waiting', dueInMs }
  }

  /** Undefined: this process may not send any more. */
  async #send(one: OpenDelivery, { url, secrets }: SendingEndpoint): Promise<TryResult | undefined> {
    const { post, clock, source, maySend, tracing } = this.#context
    const event = await this.#events.find(one.event)
    if (event === undefined) return EVENT_DELETED
    const body = JSON.stringify(toCloudEvent(event, source))
    const before = faultPoint('webhook.before')
    if (before) await before
    if (!maySend()) return undefined
    const signed = signedHeaders(String(one.event), clock.now(), body, secrets)
    const fromMs = tracing?.tracer.nowMs() ?? 0
    const result = await post(url, { ...HEADERS, ...signed }, body, this.#stop.signal)
    tracing?.onSent(event, fromMs, result.kind)
    const sent = faultPoint('webhook.sent')
    if (sent) await sent
    return result
  }

  async #settle(): Promise<void> {
    if (this.#ended.length === 0) return
    const { queue, log } = this.#context
    const { id } = this.#endpoint
    const batch = this.#ended.slice()
    const endpoint = { goneUnder: this.#goneUnder, failing: this.#plan.failing }
    const tries = batch.map(({ settled }) => settled)
    if (!(await queue.settle(this.#term, id, tries, endpoint))) this.#lost = true
    this.#ended.splice(0, batch.length)
    const point = faultPoint('webhook.settled')
    if (point) await point
    for (const { one, settled } of batch) {
      one.inFlight = false
      if (settled.state !== 'waiting') this.#open.delete(one.event)
    }
    if (endpoint.goneUnder === undefined) return
    this.#lost = true
    log.warn(
      { event: 'webhook_disabled', webhook: id },
      'webhook is disabled, unless it was changed meanwhile: its endpoint answered that it is gone',
    )
  }
}

/** Its type on the wire, and what orders it: a payment's event keeps its place among those of the order. */
function keyOf(event: ShopEvent): { readonly type: string; readonly subject: string } {
  const { type, subject } = toCloudEvent(event, '')
  return { type, subject: orderingKey(event, subject) }
}

const EVENT_DELETED: TryResult = {
  kind: 'failed',
  problem: 'event',
  detail: 'The event was deleted, by its age or with its sale.',
  status: undefined,
  answer: '',
  tookMs: 0,
}
