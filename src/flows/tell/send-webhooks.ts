/**
 * The one sender of webhooks: in the leader, for all endpoints. A round reads the endpoints and how far the events have got, and lets each
 * endpoint go on by itself: a round waits for no receiver, and a slow endpoint delays no other.
 *
 * Every write carries the sender's term, a fencing token. A process that has lost the lead writes nothing more; one that has it again finds its
 * term over and begins anew, with what the ledger has. States: idle → sending under a term → (the term is over) → idle …; stopped.
 */

import { atMost } from '../../base/deadline.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import type { EventLog } from '../../ledger/events.ts'
import type { WebhookId, WebhookQueue } from '../../ledger/webhooks.ts'
import { EndpointSender, type SendContext } from './endpoint-sender.ts'
import { RecentEvents } from './recent-events.ts'

interface WebhookSenderContext extends Omit<SendContext, 'onFailed'> {
  readonly eventLog: Pick<EventLog, 'read' | 'ends'>
}

/** So many statements of all endpoints together are at the ledger at once: it has other work to do. */
const STATEMENTS_MAX = 3
/** Settled deliveries that are kept to be seen, and to be sent again. */
const KEPT = { delivered: 1_000, failed: 10_000 }
const SWEEP_EVERY_MS = 30_000
/** Tries under way when the process stops get so long to end. */
const STOP_MS_MAX = 2_000

export class WebhookSender {
  readonly #context: WebhookSenderContext
  readonly #events: RecentEvents
  readonly #senders = new Map<WebhookId, EndpointSender>()
  /** Endpoints with tries under way that are no longer sent to, or are begun anew. */
  readonly #ending = new Map<WebhookId, Promise<void>>()
  readonly #stop = new AbortController()
  #term: number | undefined
  #sweptMs: number
  #failed: unknown

  constructor(context: WebhookSenderContext) {
    this.#context = { ...context, queue: inTurn(context.queue) }
    this.#events = new RecentEvents(context.eventLog, context.clock)
    this.#sweptMs = context.clock.elapsed()
  }

  /** Rejects with what failed since the round before, after all endpoints have been looked at. */
  async round(): Promise<void> {
    const { queue, eventLog } = this.#context
    const { term, endpoints, all } = await queue.endpoints()
    if (all.length === 0 && this.#senders.size === 0) return
    if (term !== this.#term) {
      for (const id of this.#senders.keys()) this.#end(id)
      this.#term = await queue.claim()
    }
    const ends = await eventLog.ends()
    const on = new Map(endpoints.map(one => [one.id, one]))
    for (const [id, sender] of this.#senders) if (sender.lost || !on.has(id)) this.#end(id)
    for (const [id, endpoint] of on) {
      // What is under way must have ended, or it could be overtaken.
      if (this.#ending.has(id)) continue
      const sender = this.#senders.get(id) ?? this.#begin(endpoint)
      sender.seen(endpoint, ends.newest)
      void sender.go()
    }
    await this.#sweep(all, ends.oldest)
    const failed = this.#failed
    this.#failed = undefined
    if (failed !== undefined) throw failed
  }

  /** Ends within a bounded time; a try that is broken off is made again by the next sender. */
  async stop(): Promise<void> {
    for (const id of this.#senders.keys()) this.#end(id)
    const { clock } = this.#context
    const ended = Promise.all(this.#ending.values())
    await atMost(clock, STOP_MS_MAX, ended)
    this.#stop.abort()
    // Longer only if the ledger does not answer: then what was delivered last is sent again.
    await atMost(clock, STOP_MS_MAX, ended)
  }

  /** Also of endpoints that are off or gone: what they answered is kept no longer than the events. */
  async #sweep(all: readonly WebhookId[], oldest: number): Promise<void> {
    const { clock, queue } = this.#context
    if (clock.elapsed() - this.#sweptMs < SWEEP_EVERY_MS) return
    for (const id of all) await queue.sweep(this.#term!, id, oldest, KEPT)
    this.#sweptMs = clock.elapsed()
  }

  #begin(endpoint: ConstructorParameters<typeof EndpointSender>[3]): EndpointSender {
    const onFailed = (error: unknown) => {
      this.#failed ??= error
    }
    const sender = new EndpointSender({ ...this.#context, onFailed }, this.#events, this.#term!, endpoint)
    this.#senders.set(endpoint.id, sender)
    return sender
  }

  #end(id: WebhookId): void {
    const sender = this.#senders.get(id)!
    this.#senders.delete(id)
    this.#ending.set(
      id,
      sender.end(this.#stop.signal).finally(() => this.#ending.delete(id)),
    )
  }
}

function inTurn(queue: WebhookQueue): WebhookQueue {
  const { run } = createSemaphore(STATEMENTS_MAX)
  return {
    claim: () => run(() => queue.claim()),
    endpoints: () => run(() => queue.endpoints()),
    waiting: (...given) => run(() => queue.waiting(...given)),
    queue: (...given) => run(() => queue.queue(...given)),
    settle: (...given) => run(() => queue.settle(...given)),
    expire: (...given) => run(() => queue.expire(...given)),
    sweep: (...given) => run(() => queue.sweep(...given)),
  }
}
