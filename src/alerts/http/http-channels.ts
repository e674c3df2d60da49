/**
 * Alerts by HTTP: as JSON to any address, signed as webhooks are where a secret is set; and as Slack's incoming webhooks take them, which other
 * chat programs take too (Mattermost, Rocket.Chat, Discord under /slack). How the address is checked and posted to is the caller's.
 */

import { toRfc3339 } from '../../base/clock.ts'
import { alertText, titleOf, todoOf } from '../alert-text.ts'
import type { AlertChannel, AlertMessage, AlertPart, Told } from '../channel.ts'

/** Posts once, to an address that it checks; as for webhooks. */
type Post = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
) => Promise<{
  readonly kind: 'delivered' | 'failed' | 'gone'
  readonly status: number | undefined
  readonly detail: string | undefined
}>

interface WebhookOptions {
  readonly url: string
  readonly post: Post
  /** Headers that prove who sends it. */
  readonly sign: (id: string, body: string) => Readonly<Record<string, string>>
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }
/** Slack cuts longer texts. */
const SLACK_LENGTH_MAX = 30_000

export function createWebhookChannel({ url, post, sign }: WebhookOptions): AlertChannel {
  return {
    name: 'webhook',
    async send(message, signal) {
      const body = JSON.stringify(bodyOf(message))
      return toldOf(await post(url, { ...JSON_TYPE, ...sign(message.id, body) }, body, signal))
    },
  }
}

export function createSlackChannel({ url, post }: Omit<WebhookOptions, 'sign'>): AlertChannel {
  return {
    name: 'slack',
    async send(message, signal) {
      const { subject, body } = alertText(message)
      const text = `*${escaped(subject)}*\n${escaped(body)}`.slice(0, SLACK_LENGTH_MAX)
      return toldOf(await post(url, JSON_TYPE, JSON.stringify({ text }), signal))
    },
  }
}

function toldOf({ kind, status, detail }: Awaited<ReturnType<Post>>): Told {
  if (kind === 'delivered') return { kind: 'told' }
  return { kind: 'failed', why: detail ?? `It answered ${status ?? 'nothing'}.` }
}

function bodyOf(message: AlertMessage) {
  const { subject, body } = alertText(message)
  return {
    type: message.isTest ? 'stampede.alert.test' : 'stampede.alert',
    id: message.id,
    source: message.source,
    subject,
    text: body,
    troubles: message.parts.map(wirePart),
  }
}

function wirePart(part: AlertPart) {
  const { sinceMs, untilMs, saleName: _sale, itemName: _item, ...kept } = part
  return {
    ...kept,
    title: titleOf(part),
    todo: todoOf(part),
    since: toRfc3339(sinceMs),
    ...(untilMs !== undefined && { until: toRfc3339(untilMs) }),
  }
}

/** Slack reads these three as markup. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
