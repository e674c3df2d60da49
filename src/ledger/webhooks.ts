/**
 * Endpoints of webhooks and their deliveries in the ledger: what operators keep and see (`Webhooks`), and how the one process that sends remembers
 * what is delivered (`WebhookQueue`). An endpoint has a cursor in the numbers of events; up to it every event was delivered, waits, has failed, or
 * was not wanted. So an endpoint that is away costs a bounded number of rows.
 */

export type WebhookId = string

/** `gone`: it answered that it wants nothing any more. Only `active` is sent to; the others go on where they stopped when they are turned on. */
type WebhookState = 'active' | 'off' | 'gone'
type DeliveryState = 'waiting' | 'delivered' | 'failed'

export interface Webhook {
  readonly id: WebhookId
  readonly url: string
  /** An operator's words about it. */
  readonly about: string
  /** Types of events it wants; empty: all. */
  readonly types: readonly string[]
  readonly state: WebhookState
  /** Up to this event everything has a delivery, or needs none. */
  readonly cursor: number
  /** Events that were deleted before they could be sent. */
  readonly skipped: number
  /** Since then no try has succeeded; undefined: the last one did. */
  readonly failingSinceMs: number | undefined
  readonly createdAtMs: number
  readonly waiting: number
  readonly failed: number
  /** How many secrets are valid: two or more after a rotation. */
  readonly secrets: number
}

export interface Delivery {
  readonly event: number
  readonly type: string
  readonly subject: string
  readonly state: DeliveryState
  readonly tries: number
  /** Of a waiting one: when it is tried next, and until when. */
  readonly dueAtMs: number
  readonly giveUpAtMs: number
  /** Of the last try; undefined: there was none. */
  readonly triedAtMs: number | undefined
  readonly status: number | undefined
  readonly problem: string | undefined
  readonly detail: string | undefined
  readonly answer: string | undefined
  readonly tookMs: number | undefined
}

interface NewWebhook extends Pick<Webhook, 'id' | 'url' | 'about' | 'types' | 'cursor'> {
  readonly secret: string
}

export type WebhookEdit = Partial<Pick<Webhook, 'url' | 'about' | 'types'> & { readonly state: 'active' | 'off' }>

/** Every change is written to the log in its transaction, with the operator's name, without secrets and addresses. */
export interface Webhooks {
  /** False: there are as many as there may be. */
  create(webhook: NewWebhook, by: string, endpointsMax: number): Promise<boolean>
  /** All, or the one with this id. */
  list(id?: WebhookId): Promise<readonly Webhook[]>
  /** False: there is none. `retryMs`: for how long what waits is tried when it is turned on. */
  change(id: WebhookId, edit: WebhookEdit, by: string, retryMs: number): Promise<boolean>
  delete(id: WebhookId, by: string): Promise<boolean>
  /** The secrets it has stay valid for so long. False: there is no such endpoint. */
  rotate(id: WebhookId, secret: string, overlapMs: number, by: string): Promise<boolean>
  /** Those that are valid now, the newest first. */
  secrets(id: WebhookId): Promise<readonly string[]>
  /** The newest event first. */
  deliveries(
    id: WebhookId,
    page: { readonly behind: number | undefined; readonly state: DeliveryState | undefined; readonly limit: number },
  ): Promise<readonly Delivery[]>
  /** One delivery, or all that have failed. Returns how many wait again because of this call. */
  resend(id: WebhookId, event: number | 'failed', by: string, retryMs: number): Promise<number>
}

/** What the sender knows of an active endpoint. */
export interface SendingEndpoint extends Pick<Webhook, 'id' | 'url' | 'types' | 'cursor'> {
  /** Raised by every change that the sender must read. */
  readonly revision: number
  readonly failing: boolean
  readonly secrets: readonly string[]
}

interface WaitingDelivery {
  readonly event: number
  readonly subject: string
  readonly tries: number
  /** Of them, those before it was last sent again by hand. */
  readonly triesBefore: number
  /** From the moment of the read. */
  readonly dueInMs: number
  readonly giveUpInMs: number
}

export interface SettledTry {
  readonly event: number
  /** All that were made so far. */
  readonly tries: number
  readonly state: DeliveryState
  /** Of one that still waits: until the next try. */
  readonly dueInMs: number
  readonly status: number | undefined
  readonly problem: string | undefined
  readonly detail: string | undefined
  readonly answer: string
  readonly tookMs: number
}

/** How the cursor of an endpoint moves. */
interface CursorMove {
  readonly from: number
  readonly to: number
  readonly skipped: number
}

/** The sender's side. `term` is a fencing token: where it is over, nothing is written, and the answer is false. */
export interface WebhookQueue {
  claim(): Promise<number>
  /** The active ones; `all`: also those that are off or gone. */
  endpoints(): Promise<{
    readonly term: number
    readonly endpoints: readonly SendingEndpoint[]
    readonly all: readonly WebhookId[]
  }>
  waiting(id: WebhookId, max: number): Promise<readonly WaitingDelivery[]>
  /** Writes the deliveries and moves the cursor, together. False also when the cursor is elsewhere. */
  queue(
    term: number,
    id: WebhookId,
    move: CursorMove,
    deliveries: readonly { readonly event: number; readonly type: string; readonly subject: string }[],
    retryMs: number,
  ): Promise<boolean>
  /** `goneUnder`: sent to under this revision, the endpoint wants nothing any more; one that was changed since stays as it is. `failing`: its last try failed. */
  settle(
    term: number,
    id: WebhookId,
    tries: readonly SettledTry[],
    endpoint: { readonly goneUnder: number | undefined; readonly failing: boolean },
  ): Promise<boolean>
  /** Gives up what was tried for long enough. Returns the events. */
  expire(term: number, id: WebhookId): Promise<readonly number[]>
  /** Deletes settled deliveries of events below `oldest`, and all but the newest; and what was answered to those below `oldest` that wait. */
  sweep(term: number, id: WebhookId, oldest: number, keep: { delivered: number; failed: number }): Promise<void>
}
