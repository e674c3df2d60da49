import { expect, test } from 'bun:test'
import { Fault } from '../../base/fault.ts'
import type { PaymentProvider } from '../../payment/payment.ts'
import type { EdgeContext } from '../edge-context.ts'
import { ProblemError } from '../http/problem-response.ts'
import { paymentRoutes } from './payment-routes.ts'

/** What a provider hears when its callback is judged so. */
async function answerTo(verify: PaymentProvider['verify']) {
  const forged: string[] = []
  const provider = { name: 'house', verify, acknowledgement: { contentType: 'text/plain', body: 'received' } }
  const edge = { money: { providers: new Map([['house', provider]]) }, onForged: (name: string) => forged.push(name) }
  const callback = paymentRoutes(edge as unknown as EdgeContext).find(({ path }) => path.endsWith('/callback'))!
  const request = new Request('http://here/', { method: 'POST', body: 'x' })
  const exchange = { request, params: { provider: 'house' }, requestId: '1' }
  try {
    return { status: (await callback.handle(exchange)).status, forged }
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    return { status: error.toResponse().status, forged }
  }
}

test('a callback that can not be judged now is to be repeated, and is not counted as forged', async () => {
  const away = new Fault('payment_unreachable', 'the certificate can not be fetched', { retryable: true })
  expect(await answerTo(() => Promise.reject(away))).toEqual({ status: 503, forged: [] })
})

test('a forged one is refused and counted; one of no interest is acknowledged', async () => {
  expect(await answerTo(async () => undefined)).toEqual({ status: 401, forged: ['house'] })
  const other = { eventId: '1', ref: '', kind: 'other', amount: { amount: 0, currency: 'CNY' }, atMs: 0 } as const
  expect(await answerTo(async () => other)).toEqual({ status: 200, forged: [] })
})
