/** Webhooks as operators write and read them. A secret is in no answer but those that make it. */

import { z } from 'zod'
import { plainId, plainTime } from '../answers.ts'
import { label, pageQuery } from '../inputs.ts'
import { EVENT_NAMES } from './event-names.ts'

const URL_LENGTH_MAX = 2_000
const ABOUT_LENGTH_MAX = 200
const OVERLAP_S_MAX = 7 * 24 * 3600
const DAY_S = 24 * 3600

const types = z
  .array(z.enum(EVENT_NAMES, 'must be a type of event'))
  .max(EVENT_NAMES.length)
  .transform(names => [...new Set<string>(names)])

const url = label(URL_LENGTH_MAX).describe(
  'An https address of the public internet, or one that WEBHOOK_ALLOW_PRIVATE allows.',
)

export const webhookInput = z.strictObject({
  url,
  about: label(ABOUT_LENGTH_MAX).or(z.literal('')).default('').describe('For people.'),
  types: types.default([]).describe('The types of events it gets; none: all, also those that later versions add.'),
})

/** What is missing stays as it is. */
export const webhookEdit = z.strictObject({
  url: url.optional(),
  about: label(ABOUT_LENGTH_MAX).or(z.literal('')).optional(),
  types: types.optional(),
  state: z.enum(['active', 'off']).optional().describe('Turned on again it goes on where it stopped.'),
})

export const rotateInput = z.strictObject({
  overlapSeconds: z
    .int()
    .min(0)
    .max(OVERLAP_S_MAX)
    .default(DAY_S)
    .describe('For how long the secret before stays valid. Messages are signed with both meanwhile.'),
})

const DELIVERY_STATES = ['waiting', 'delivered', 'failed'] as const

export const deliveriesQuery = pageQuery(50, 500).extend({ state: z.enum(DELIVERY_STATES).optional() })

const count = z.int().min(0)

const webhook = z.object({
  id: plainId,
  url: z
    .string()
    .describe('Below the role admin only its origin, as in https://shop.example: the rest is often a credential.'),
  about: z.string(),
  types: z.array(z.string()).describe('Empty: all.'),
  state: z.enum(['active', 'off', 'gone']).describe('gone: it answered 410, and gets nothing until it is turned on.'),
  createdAt: plainTime,
  failingSince: plainTime.optional().describe('Since then no try has succeeded.'),
  waiting: count.describe('Deliveries that wait for a try. Events that come later follow when there is room.'),
  failed: count.describe('Deliveries that were given up.'),
  skipped: count.describe('Events that were deleted before they could be sent.'),
  secrets: count.describe('Secrets that are valid now.'),
})

const delivery = z.object({
  event: z.string().describe("The event's id; the message's `webhook-id`."),
  type: z.string(),
  subject: z.string(),
  state: z.enum(DELIVERY_STATES),
  tries: count,
  nextTryAt: plainTime.optional().describe('Of a waiting one, at the latest.'),
  givesUpAt: plainTime.optional(),
  triedAt: plainTime.optional(),
  status: z.int().optional().describe('The HTTP status of the last answer.'),
  problem: z.string().optional().describe('answer, redirect, timeout, name, connection, address or event.'),
  detail: z.string().optional(),
  answer: z.string().optional().describe('The beginning of its body, at most 1 KiB.'),
  tookMs: count.optional(),
})

export const webhookAnswer = webhook.meta({ id: 'Webhook' })
export const webhooksAnswer = z.object({ webhooks: z.array(webhookAnswer) })
export const webhookSecretAnswer = webhook
  .extend({
    secret: z
      .string()
      .regex(/^whsec_/)
      .describe('Shown this once.'),
  })
  .meta({ id: 'WebhookWithSecret' })
export const deliveryAnswer = delivery.meta({ id: 'Delivery' })
export const deliveriesAnswer = z.object({ deliveries: z.array(deliveryAnswer), next: z.string().nullable() })
export const webhookTestAnswer = z
  .object({ delivered: z.boolean() })
  .extend(delivery.pick({ status: true, problem: true, detail: true, answer: true, tookMs: true }).shape)
  .meta({ id: 'WebhookTest' })
export const resentAnswer = z.object({ sent: count })

export type WebhookAnswer = z.infer<typeof webhookAnswer>
export type WebhooksAnswer = z.infer<typeof webhooksAnswer>
export type WebhookSecretAnswer = z.infer<typeof webhookSecretAnswer>
export type DeliveryAnswer = z.infer<typeof deliveryAnswer>
export type DeliveriesAnswer = z.infer<typeof deliveriesAnswer>
export type WebhookTestAnswer = z.infer<typeof webhookTestAnswer>
export type ResentAnswer = z.infer<typeof resentAnswer>
