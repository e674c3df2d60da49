/**
 * Operators and their webhooks: create, change, give a new secret, test. What is sent, and when, is decided by the sender (`flows/tell`), in
 * another process perhaps; it reads every change within a second.
 */

import { type Clock, toRfc3339 } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { IdMaker } from '../../base/snowflake.ts'
import type { EventLog } from '../../ledger/events.ts'
import type { Webhook, WebhookEdit, WebhookId, Webhooks } from '../../ledger/webhooks.ts'
import { newSecret, signedHeaders } from '../../webhooks/signature.ts'
import type { PostWebhook, TryResult } from '../../webhooks/webhook.ts'

export interface WebhookContext {
  readonly webhooks: Webhooks
  readonly eventLog: Pick<EventLog, 'ends'>
  readonly ids: Pick<IdMaker, 'next'>
  readonly clock: Clock
  readonly random: Random
  readonly post: PostWebhook
  /** Why an address may not be called, as far as it is known without a name server. */
  readonly refusalOf: (url: string) => string | undefined
  readonly source: string
  readonly retryMs: number
}

/** Each may have its share of connections and rows: the product is bounded. */
const WEBHOOKS_MAX = 32

type Refused = { readonly kind: 'refused'; readonly why: string }
type Missing = { readonly kind: 'missing' }
type Done = { readonly kind: 'done'; readonly webhook: Webhook }
type Secret = Done & { readonly secret: string }

export async function createWebhook(
  context: WebhookContext,
  wish: Pick<Webhook, 'url' | 'about' | 'types'>,
  by: string,
): Promise<Secret | Refused | { readonly kind: 'full'; readonly max: number }> {
  const why = context.refusalOf(wish.url)
  if (why !== undefined) return { kind: 'refused', why }
  const { newest } = await context.eventLog.ends()
  const id = context.ids.next()
  const secret = newSecret(context.random)
  const made = await context.webhooks.create({ id, ...wish, cursor: newest, secret }, by, WEBHOOKS_MAX)
  if (!made) return { kind: 'full', max: WEBHOOKS_MAX }
  const done = await find(context, id)
  // It may be gone already: another operator deleted it.
  return done.kind === 'done' ? { ...done, secret } : { kind: 'refused', why: 'was deleted meanwhile' }
}

export async function changeWebhook(
  context: WebhookContext,
  id: WebhookId,
  edit: WebhookEdit,
  by: string,
): Promise<Done | Refused | Missing> {
  const why = edit.url === undefined ? undefined : context.refusalOf(edit.url)
  if (why !== undefined) return { kind: 'refused', why }
  const changed = await context.webhooks.change(id, edit, by, context.retryMs)
  return changed ? find(context, id) : { kind: 'missing' }
}

export async function rotateSecret(
  context: WebhookContext,
  id: WebhookId,
  overlapMs: number,
  by: string,
): Promise<Secret | Missing> {
  const secret = newSecret(context.random)
  if (!(await context.webhooks.rotate(id, secret, overlapMs, by))) return { kind: 'missing' }
  const done = await find(context, id)
  return done.kind === 'done' ? { ...done, secret } : done
}

/** One message that is no event, at once, from this process. */
export async function testWebhook(
  context: WebhookContext,
  id: WebhookId,
): Promise<{ readonly kind: 'tried'; readonly result: TryResult } | Missing> {
  const { webhooks, ids, clock, source, post } = context
  const found = await find(context, id)
  const secrets = await webhooks.secrets(id)
  if (found.kind === 'missing' || secrets.length === 0) return { kind: 'missing' }
  const messageId = `test_${ids.next()}`
  const nowMs = clock.now()
  const body = JSON.stringify({
    specversion: '1.0',
    id: messageId,
    source,
    type: 'stampede.webhook.test',
    subject: id,
    time: toRfc3339(nowMs),
    datacontenttype: 'application/json',
    data: { webhook: id },
  })
  const headers = { 'content-type': 'application/cloudevents+json', 'user-agent': 'Stampede-Webhooks/1' }
  const signed = signedHeaders(messageId, nowMs, body, secrets)
  return { kind: 'tried', result: await post(found.webhook.url, { ...headers, ...signed }, body) }
}

async function find({ webhooks }: WebhookContext, id: WebhookId): Promise<Done | Missing> {
  const [webhook] = await webhooks.list(id)
  return webhook === undefined ? { kind: 'missing' } : { kind: 'done', webhook }
}
