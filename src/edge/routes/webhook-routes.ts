/** Operators and their webhooks: where events go, what was delivered, and sending again. */

import { toRfc3339 } from '../../base/clock.ts'
import {
  changeWebhook,
  createWebhook,
  rotateSecret,
  testWebhook,
  type WebhookContext,
} from '../../flows/operate/manage-webhooks.ts'
import type { Delivery, Webhook } from '../../ledger/webhooks.ts'
import { isAtLeast, type OperatorRole } from '../../wire/operator-role.ts'
import { webhookCalls } from '../../wire/webhooks/webhook-calls.ts'
import type { DeliveryAnswer, WebhookAnswer, WebhookTestAnswer } from '../../wire/webhooks/webhook-shapes.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { type Exchange, idParam, json, readBody, readPage, readQuery, uncached } from '../http/exchange.ts'
import { answerBy, noSuch, notChangeable, ProblemError } from '../http/problem-response.ts'

const missing = () => noSuch('webhook')
const refused = ({ why }: { readonly why: string }) =>
  new ProblemError('url_not_allowed', `"url": ${why}.`, { field: 'url' })

const handlers = {
  async createWebhook({ hooks }, { request }, by) {
    const wish = await readBody(request, webhookCalls.createWebhook.body.schema)
    return answerBy(await createWebhook(hooks, wish, by), {
      done: ({ webhook, secret }) => uncached({ ...wireWebhook(webhook), secret }, 201),
      refused,
      full: ({ max }) => notChangeable('webhooks', `There are ${max} webhooks already: delete one first.`),
    })
  },

  async webhooks({ hooks, identity }, { request }) {
    const { role } = identity.operator(request)
    return json({ webhooks: (await hooks.webhooks.list()).map(one => wireWebhook(shownTo(role, one))) })
  },

  async webhook({ hooks, identity }, exchange) {
    const { role } = identity.operator(exchange.request)
    return json(wireWebhook(shownTo(role, await findWebhook(hooks, exchange))))
  },

  async changeWebhook({ hooks }, exchange, by) {
    const edit = await readBody(exchange.request, webhookCalls.changeWebhook.body.schema)
    return answerBy(await changeWebhook(hooks, idParam(exchange, 'webhook'), definedOf(edit), by), {
      done: ({ webhook }) => json(wireWebhook(webhook)),
      refused,
      missing,
    })
  },

  async deleteWebhook({ hooks }, exchange, by) {
    if (!(await hooks.webhooks.delete(idParam(exchange, 'webhook'), by))) throw missing()
    return new Response(null, { status: 204 })
  },

  async rotateWebhook({ hooks }, exchange, by) {
    const { overlapSeconds } = await readBody(exchange.request, webhookCalls.rotateWebhook.body.schema)
    return answerBy(await rotateSecret(hooks, idParam(exchange, 'webhook'), overlapSeconds * 1000, by), {
      done: ({ webhook, secret }) => uncached({ ...wireWebhook(webhook), secret }),
      missing,
    })
  },

  async testWebhook({ hooks }, exchange) {
    return answerBy(await testWebhook(hooks, idParam(exchange, 'webhook')), {
      tried: ({ result: { kind, ...tried } }) =>
        json({ delivered: kind === 'delivered', ...tried } satisfies WebhookTestAnswer),
      missing,
    })
  },

  async deliveries({ hooks }, exchange) {
    const { id } = await findWebhook(hooks, exchange)
    const { after, state, limit } = readQuery(exchange, webhookCalls.deliveries.query)
    const behind = after === undefined || after === '' ? undefined : Number(after)
    const { shown, next } = await readPage(limit, async max =>
      (await hooks.webhooks.deliveries(id, { behind, state, limit: max })).map(one => ({
        id: String(one.event),
        ...wireDelivery(one),
      })),
    )
    return json({ deliveries: shown.map(({ id: _, ...one }) => one), next })
  },

  async resendDelivery({ hooks }, exchange, by) {
    const { id } = await findWebhook(hooks, exchange)
    const event = Number(idParam(exchange, 'delivery'))
    if (!Number.isSafeInteger(event)) throw noSuch('delivery')
    await hooks.webhooks.resend(id, event, by, hooks.retryMs)
    const [found] = await hooks.webhooks.deliveries(id, { behind: event + 1, state: undefined, limit: 1 })
    if (found?.event !== event) throw noSuch('delivery')
    return json(wireDelivery(found))
  },

  async resendFailed({ hooks }, exchange, by) {
    const { id } = await findWebhook(hooks, exchange)
    return json({ sent: await hooks.webhooks.resend(id, 'failed', by, hooks.retryMs) })
  },
} satisfies Handlers<typeof webhookCalls>

export const webhookRoutes = (edge: EdgeContext) => routesOf(edge, webhookCalls, handlers)

async function findWebhook({ webhooks }: WebhookContext, exchange: Exchange): Promise<Webhook> {
  const [found] = await webhooks.list(idParam(exchange, 'webhook'))
  if (found === undefined) throw missing()
  return found
}

/** An address is often a credential: only who may change it sees more than where it is. */
function shownTo(role: OperatorRole, webhook: Webhook): Webhook {
  return isAtLeast(role, 'admin') ? webhook : { ...webhook, url: new URL(webhook.url).origin }
}

function wireWebhook({ createdAtMs, failingSinceMs, cursor: _, ...webhook }: Webhook): WebhookAnswer {
  return {
    ...webhook,
    types: [...webhook.types],
    createdAt: toRfc3339(createdAtMs),
    ...(failingSinceMs !== undefined && { failingSince: toRfc3339(failingSinceMs) }),
  }
}

function wireDelivery({ event, dueAtMs, giveUpAtMs, triedAtMs, ...delivery }: Delivery): DeliveryAnswer {
  const waits = delivery.state === 'waiting'
  return {
    event: String(event),
    ...delivery,
    ...(waits && { nextTryAt: toRfc3339(dueAtMs), givesUpAt: toRfc3339(giveUpAtMs) }),
    ...(triedAtMs !== undefined && { triedAt: toRfc3339(triedAtMs) }),
  }
}

/** Without members that are undefined. */
function definedOf<T extends object>(given: T) {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]: Exclude<T[Name], undefined>
  }
}
