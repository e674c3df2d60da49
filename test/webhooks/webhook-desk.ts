/** An operator with webhooks, over HTTP as the API describes it, and what a receiver of the tests got, checked as a shop would check it. */

import { Webhook } from 'standardwebhooks'
import type {
  DeliveriesAnswer,
  DeliveryAnswer,
  WebhookAnswer,
  WebhookSecretAnswer,
  WebhookTestAnswer,
} from '../../src/wire/webhooks/webhook-shapes.ts'
import { assertDescribed } from '../harness/described.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'
import type { Received } from '../harness/webhook-receiver.ts'

interface Message {
  readonly id: string
  readonly type: string
  readonly subject: string
  readonly data: Readonly<Record<string, unknown>>
}

export class WebhookDesk {
  readonly #url: () => string

  constructor(url: () => string) {
    this.#url = url
  }

  create(wish: { url: string; types?: readonly string[]; about?: string }): Promise<WebhookSecretAnswer> {
    return this.#did('POST', '', wish) as Promise<WebhookSecretAnswer>
  }
  async list(): Promise<readonly WebhookAnswer[]> {
    return ((await this.#did('GET', '')) as { webhooks: WebhookAnswer[] }).webhooks
  }
  find(id: string): Promise<WebhookAnswer> {
    return this.#did('GET', `/${id}`) as Promise<WebhookAnswer>
  }
  change(id: string, edit: Readonly<Record<string, unknown>>): Promise<WebhookAnswer> {
    return this.#did('PATCH', `/${id}`, edit) as Promise<WebhookAnswer>
  }
  async delete(id: string): Promise<void> {
    await this.#did('DELETE', `/${id}`)
  }
  rotate(id: string, overlapSeconds: number): Promise<WebhookSecretAnswer> {
    return this.#did('POST', `/${id}/rotate`, { overlapSeconds }) as Promise<WebhookSecretAnswer>
  }
  test(id: string): Promise<WebhookTestAnswer> {
    return this.#did('POST', `/${id}/test`) as Promise<WebhookTestAnswer>
  }
  async deliveries(id: string, query = ''): Promise<readonly DeliveryAnswer[]> {
    return ((await this.#did('GET', `/${id}/deliveries?${query}`)) as DeliveriesAnswer).deliveries
  }
  async page(id: string, query: string): Promise<DeliveriesAnswer> {
    return (await this.#did('GET', `/${id}/deliveries?${query}`)) as DeliveriesAnswer
  }
  resend(id: string, event: string): Promise<DeliveryAnswer> {
    return this.#did('POST', `/${id}/deliveries/${event}/retry`) as Promise<DeliveryAnswer>
  }
  async resendFailed(id: string): Promise<number> {
    return ((await this.#did('POST', `/${id}/retry-failed`)) as { sent: number }).sent
  }

  async ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.#url()}/api/admin/webhooks${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    assertDescribed(method, new URL(response.url).pathname, response.status, response.headers, text)
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }

  async #did(method: string, path: string, body?: unknown): Promise<unknown> {
    const reply = await this.ask(method, path, body)
    if (reply.status >= 300) throw new Error(`${method} ${path} was refused: ${JSON.stringify(reply)}`)
    return reply.body
  }
}

/** Throws if the signature is not right. */
export function verified(secret: string, { body, headers }: Received): Message {
  const message = new Webhook(secret).verify(body, headers as Record<string, string>) as Message
  if (message.id !== headers['webhook-id']) throw new Error('the id of the message is not that of the event')
  return message
}

/** Each event as it came for the first time, in that order; fails where one of a subject overtook an earlier one. */
export function firstOnes(messages: readonly Message[]): readonly Message[] {
  const first = [...new Map(messages.toReversed().map(one => [one.id, one])).values()]
  const seen = new Set<string>()
  const inOrder = messages.filter(({ id }) => !seen.has(id) && seen.add(id))
  if (first.length !== inOrder.length) throw new Error('counted wrongly')
  for (const [subject, of] of Map.groupBy(inOrder, one => one.subject)) {
    const ids = of.map(({ id }) => Number(id))
    if (ids.some((id, at) => at > 0 && id < ids[at - 1]!)) throw new Error(`${subject} out of order: ${ids.join()}`)
  }
  return inOrder
}
