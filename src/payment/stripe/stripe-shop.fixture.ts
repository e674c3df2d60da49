/** For tests: our side of Stripe against a local server, with a clock that can be shifted. */

import { type Clock, systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { PaymentRequest } from '../payment.ts'
import { StripeProvider } from './stripe-provider.ts'
import { openLocalStripe } from './stripe-server.fixture.ts'

type ShopOptions = Parameters<typeof openLocalStripe>[0] & {
  /** Other keys than the server's. */
  readonly provider?: Partial<ConstructorParameters<typeof StripeProvider>[0]>
}

export async function openStripeShop({ provider: own, ...options }: ShopOptions = {}) {
  const stripe = await openLocalStripe(options)
  let shiftMs = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + shiftMs }
  const logged: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string }[] = []
  const write = (fields: Readonly<Record<string, unknown>>, message: string) => void logged.push({ fields, message })
  const log: Log = { debug: write, info: write, warn: write, error: write }
  const provider = new StripeProvider({
    name: 'stripe',
    secretKey: stripe.settings.STRIPE_SECRET_KEY,
    webhookSecrets: stripe.settings.STRIPE_WEBHOOK_SECRET.split(','),
    publishableKey: undefined,
    apiBase: stripe.origin,
    publicUrl: () => 'https://shop.example',
    clock,
    log,
    ...own,
  })
  let made = 0
  return {
    stripe,
    provider,
    clock,
    logged,
    shiftClock(ms: number) {
      shiftMs += ms
    },
    requestOf: (more: Partial<PaymentRequest> = {}): PaymentRequest => ({
      ref: `pay-${++made}`,
      amount: { amount: 1_999, currency: 'EUR' },
      description: 'Phone',
      returnUrl: undefined,
      payByMs: clock.now() + 900_000,
      ...more,
    }),
    close: stripe.close,
  }
}

export type StripeShop = Awaited<ReturnType<typeof openStripeShop>>
