/** Every request that is sent to Stripe, held against Stripe's own description of its API by stripe-mock. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { childEnd } from '../../src/base/child-end.ts'
import { openStripeShop, type StripeShop } from '../../src/payment/stripe/stripe-shop.fixture.ts'
import { within } from '../harness/until.ts'
import { ensureStripeMock } from './program.ts'

const START_MS_MAX = 120_000
const BUILD_MS_MAX = 11 * 60_000
const patient = new AbortController().signal

/**
 * stripe-mock 0.203.0 describes API version 2026-08-26; ours is that of the `stripe` package. This parameter came in between, in place of
 * `payment_method_types`: it is sent to Stripe, and left out here.
 */
const NEWER = 'allowed_payment_method_types'

let mock: ChildProcess
let url: string
let shop: StripeShop
beforeAll(async () => {
  const program = ensureStripeMock(line => console.log(line))
  mock = spawn(program, ['-http-addr', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const address = new Promise<string>(resolve => {
    let said = ''
    mock.stdout!.on('data', chunk => {
      said += chunk
      const found = /at address: (127\.0\.0\.1:\d+)/.exec(said)?.[1]
      if (found !== undefined) resolve(found)
    })
  })
  url = `http://${await within('stripe-mock listens', START_MS_MAX, address)}`
  shop = await openStripeShop()
}, BUILD_MS_MAX)
afterAll(async () => {
  await shop?.close()
  if (mock === undefined) return
  mock.kill('SIGKILL')
  await childEnd(mock)
})

/** Every verb, in each method. */
async function askForEverything({ provider, stripe, requestOf }: StripeShop): Promise<void> {
  for (const method of ['checkout', 'intent']) {
    const request = requestOf({ method, returnUrl: '/sale?a=1&b=ü' })
    const { payUrl, handle, client } = await provider.start(request, patient)
    const key = { ref: request.ref, handle }
    await provider.query(key, patient)
    await provider.query({ ref: request.ref }, patient)
    if (client === undefined) await stripe.approve(payUrl)
    else stripe.confirm(client.clientSecret!)
    const part = { amount: 100, currency: 'EUR' }
    await provider.refund(key, { key: 'part', captured: request.amount, part }, patient)
    await provider.refund(key, { key: 'rest', captured: request.amount }, patient)
    const open = requestOf({ method })
    const started = await provider.start(open, patient)
    await provider.cancel({ ref: open.ref, handle: started.handle }, patient)
  }
  await provider.examine(patient)
}

/** What stripe-mock says to this request. */
async function checked(method: string, path: string, body: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: 'Bearer sk_test_123', 'content-type': 'application/x-www-form-urlencoded' },
    ...(method === 'POST' && { body }),
  })
  return { status: answer.status, text: await answer.text() }
}

test('stripe-mock accepts every request that we send, and would refuse a parameter that Stripe does not know', async () => {
  await askForEverything(shop)
  const shapes = new Set<string>()
  for (const { method, path, body } of shop.stripe.asked) {
    const fields = new URLSearchParams(body)
    const newer = [...fields.keys()].filter(name => name.startsWith(NEWER))
    for (const name of newer) fields.delete(name)
    const { status, text } = await checked(method, path, fields.toString())
    expect({ method, path, said: status === 200 ? 'accepted' : text }).toEqual({ method, path, said: 'accepted' })
    shapes.add(`${method} ${path.replace(/_\w*[0-9a-f]{16}/, '').replace(/\?.*/, '')}`)
  }
  expect([...shapes].sort()).toEqual([
    'GET /v1/checkout/sessions',
    'GET /v1/checkout/sessions/cs',
    'GET /v1/payment_intents',
    'GET /v1/payment_intents/pi',
    'GET /v1/payment_intents/search',
    'GET /v1/refunds',
    'GET /v1/webhook_endpoints',
    'POST /v1/checkout/sessions',
    'POST /v1/checkout/sessions/cs/expire',
    'POST /v1/payment_intents',
    'POST /v1/payment_intents/pi/cancel',
    'POST /v1/refunds',
  ])
  const wrong = await checked('POST', '/v1/refunds', 'payment_intent=pi_1&ammount=1')
  expect(wrong.status).toBe(400)
})
