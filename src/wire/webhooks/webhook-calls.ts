/** The calls for webhooks. Where events go, admins decide; operators test and send again; viewers see what was delivered. */

import { type Call, callsForOperators, json, uncached } from '../call.ts'
import { AT } from '../calls/examples.ts'
import {
  deliveriesAnswer,
  deliveriesQuery,
  deliveryAnswer,
  resentAnswer,
  rotateInput,
  webhookAnswer,
  webhookEdit,
  webhookInput,
  webhookSecretAnswer,
  webhooksAnswer,
  webhookTestAnswer,
} from './webhook-shapes.ts'

const viewers = callsForOperators('Operators', 'viewer')
const operators = callsForOperators('Operators', 'operator')
const admins = callsForOperators('Operators', 'admin')

const NEW = { url: 'https://shop.example/stampede', about: 'parcels', types: ['stampede.order.paid'] }
const WEBHOOK = {
  id: '4711001337000001',
  ...NEW,
  state: 'active',
  createdAt: AT,
  waiting: 0,
  failed: 0,
  skipped: 0,
  secrets: 1,
}
const SECRET = { ...WEBHOOK, secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' }
const DELIVERY = {
  event: '4711',
  type: 'stampede.order.paid',
  subject: '4711001337000002',
  state: 'failed',
  tries: 31,
  triedAt: AT,
  status: 500,
  problem: 'answer',
  answer: 'no database',
  tookMs: 120,
}

export const webhookCalls = {
  createWebhook: admins.post('/api/admin/webhooks', 'Send events to an address, from now on', {
    more:
      'Messages follow Standard Webhooks; the body is a CloudEvent, as in the feed. The secret is shown in this answer and never again. An ' +
      'Idempotency-Key is not taken: without an answer, list the webhooks, delete what was made and create it again.',
    body: { schema: webhookInput, example: NEW },
    answers: { 201: { ...uncached('The webhook, with its secret.', webhookSecretAnswer, SECRET) } },
    problems: ['not_changeable', 'url_not_allowed'],
  }),
  webhooks: viewers.get('/api/admin/webhooks', 'All webhooks', {
    answers: { 200: json('The webhooks.', webhooksAnswer, { webhooks: [WEBHOOK] }) },
  }),
  webhook: viewers.get('/api/admin/webhooks/{webhook}', 'One webhook', {
    answers: { 200: json('The webhook.', webhookAnswer, WEBHOOK) },
  }),
  changeWebhook: admins.patch('/api/admin/webhooks/{webhook}', 'Change a webhook, turn it off or on', {
    problems: ['url_not_allowed'],
    body: { schema: webhookEdit, example: { state: 'off' } },
    answers: { 200: json('The webhook as it is now.', webhookAnswer, { ...WEBHOOK, state: 'off' }) },
  }),
  deleteWebhook: admins.delete('/api/admin/webhooks/{webhook}', 'Delete a webhook with its deliveries', {
    answers: { 204: { what: 'It is deleted.' } },
  }),
  rotateWebhook: admins.post('/api/admin/webhooks/{webhook}/rotate', 'Make a new secret', {
    more: 'Messages are signed with the secrets before it too, until they end: give the receiver the new one meanwhile.',
    body: { schema: rotateInput, example: { overlapSeconds: 86_400 } },
    answers: { 200: uncached('The webhook, with its new secret.', webhookSecretAnswer, { ...SECRET, secrets: 2 }) },
  }),
  testWebhook: operators.post(
    '/api/admin/webhooks/{webhook}/test',
    'Send a message of the type stampede.webhook.test',
    {
      more: 'Once, at once, from the server that is asked; it is no event, and not among the deliveries.',
      answers: {
        200: json('What came of it.', webhookTestAnswer, { delivered: true, status: 204, answer: '', tookMs: 80 }),
      },
    },
  ),
  deliveries: viewers.get(
    '/api/admin/webhooks/{webhook}/deliveries',
    'Deliveries of a webhook, the newest event first',
    {
      query: deliveriesQuery,
      answers: { 200: json('A page of them.', deliveriesAnswer, { deliveries: [DELIVERY], next: null }) },
    },
  ),
  resendDelivery: operators.post('/api/admin/webhooks/{webhook}/deliveries/{delivery}/retry', 'Send a delivery again', {
    more: 'One that waits already is left as it is.',
    answers: { 200: json('The delivery.', deliveryAnswer, { ...DELIVERY, state: 'waiting' }) },
  }),
  resendFailed: operators.post('/api/admin/webhooks/{webhook}/retry-failed', 'Send all failed deliveries again', {
    answers: { 200: json('How many are sent again.', resentAnswer, { sent: 12 }) },
  }),
} satisfies Record<string, Call>
