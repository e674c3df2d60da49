/** Webhooks in PostgreSQL. */

import type { Delivery, SettledTry, Webhook, WebhookQueue, Webhooks } from '../../webhooks.ts'
import type { Database, Row } from '../connection/database.ts'
import { columns, number, optional, queries, text, time } from '../rows.ts'

const DETAIL_LENGTH_MAX = 300

export function createWebhooks(database: Pick<Database, 'run'>): Webhooks {
  const { all, did } = queries(database)
  return {
    create: ({ id, url, about, types, cursor, secret }, by, endpointsMax) =>
      did('create_webhook', [id, url, about, types, cursor, secret, by, endpointsMax]),
    list: id => all('list_webhooks', [id ?? null], toWebhook),
    change: (id, { url, about, types, state }, by, retryMs) =>
      did('change_webhook', [id, url ?? null, about ?? null, types ?? null, state ?? null, by, retryMs]),
    delete: (id, by) => did('delete_webhook', [id, by]),
    rotate: (id, secret, overlapMs, by) => did('rotate_webhook_secret', [id, secret, overlapMs, by]),
    secrets: id => all('webhook_secrets', [id], row => text(row, 'secret')),
    deliveries: (id, { behind, state, limit }) =>
      all('webhook_deliveries', [id, behind ?? null, state ?? null, limit], toDelivery),
    resend: async (id, event, by, retryMs) =>
      (await database.run('resend_deliveries', [id, event === 'failed' ? null : event, by, retryMs])).length,
  }
}

export function createWebhookQueue(database: Pick<Database, 'run'>): WebhookQueue {
  const { all, one, did, act } = queries(database)
  return {
    claim: () => one('claim_webhook_sender', [], row => number(row, 'term')),
    async endpoints() {
      const rows = await database.run('webhooks_to_send', [])
      const [first] = rows
      const endpoints = rows.filter(row => row.id !== null).map(toEndpoint)
      return { term: number(first!, 'term'), endpoints, all: texts(first!, 'all_ids') }
    },
    waiting: (id, max) =>
      all('waiting_deliveries', [id, max], row => ({
        subject: text(row, 'subject'),
        ...columns(row, number, 'event', 'tries', 'tries_before', 'due_in_ms', 'give_up_in_ms'),
      })),
    queue: (term, id, { from, to, skipped }, deliveries, retryMs) =>
      did('queue_deliveries', [
        ...[term, id, from, to, skipped, retryMs],
        ...(['event', 'type', 'subject'] as const).map(column => deliveries.map(one => one[column])),
      ]),
    settle: (term, id, tries, { goneUnder, failing }) => {
      const stored = tries.map(storable)
      const values = (
        ['event', 'tries', 'state', 'dueInMs', 'status', 'problem', 'detail', 'answer', 'tookMs'] as const
      ).map(column => stored.map(one => one[column] ?? null))
      return one('settle_deliveries', [term, id, goneUnder ?? null, failing, ...values], row => row.mine === true)
    },
    expire: (term, id) => all('expire_deliveries', [term, id], row => number(row, 'event')),
    sweep: (term, id, oldest, { delivered, failed }) => act('sweep_deliveries', [term, id, oldest, delivered, failed]),
  }
}

/** Text in PostgreSQL has no zero character. */
function storable(one: SettledTry): SettledTry {
  return { ...one, detail: one.detail?.slice(0, DETAIL_LENGTH_MAX).replaceAll('\0', '\ufffd') }
}

function toEndpoint(row: Row) {
  return {
    ...columns(row, text, 'id', 'url'),
    ...columns(row, number, 'cursor', 'revision'),
    ...columns(row, texts, 'types', 'secrets'),
    failing: row.failing === true,
  }
}

function toWebhook(row: Row): Webhook {
  return {
    ...columns(row, text, 'id', 'url', 'about'),
    ...columns(row, number, 'cursor', 'skipped', 'waiting', 'failed', 'secrets'),
    types: texts(row, 'types'),
    state: text(row, 'state') as Webhook['state'],
    failingSinceMs: optional(row, 'failing_since', time),
    createdAtMs: time(row, 'created_at'),
  }
}

function toDelivery(row: Row): Delivery {
  return {
    ...columns(row, text, 'type', 'subject'),
    ...columns(row, number, 'event', 'tries'),
    state: text(row, 'state') as Delivery['state'],
    dueAtMs: time(row, 'due_at'),
    giveUpAtMs: time(row, 'give_up_at'),
    triedAtMs: optional(row, 'tried_at', time),
    status: optional(row, 'status', number),
    problem: optional(row, 'problem', text),
    detail: optional(row, 'detail', text),
    answer: optional(row, 'answer', text),
    tookMs: optional(row, 'took_ms', number),
  }
}

function texts(row: Row, column: string): readonly string[] {
  return row[column] as string[]
}
