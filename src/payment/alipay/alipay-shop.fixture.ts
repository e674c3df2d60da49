/**
 * An Alipay account of ours beside the local Alipay, with a listener for the notices and a clock of our own that can be shifted.
 */

import { createPrivateKey, createPublicKey } from 'node:crypto'
import { until } from '../../../test/harness/until.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { type Delivery, listenForCallbacks } from '../contract/callback-listener.ts'
import type { PaymentRequest } from '../payment.ts'
import { openAlipayServer } from './alipay-server.fixture.ts'
import { openAlipay } from './open-alipay.ts'

type Mode = Parameters<typeof openAlipayServer>[0]

interface ShopOptions {
  readonly account?: 'A' | 'B'
  readonly methods?: readonly string[]
  /** Of another account. */
  readonly gateway?: string
}

export async function openAlipayShop(
  mode: Mode,
  { account = 'A', methods = ['qr', 'page', 'wap'], gateway }: ShopOptions = {},
) {
  const server = await openAlipayServer(mode, account)
  const listener = await listenForCallbacks({ body: 'success' })
  let shiftMs = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + shiftMs }
  const texts = server.settings
  const logged: string[] = []
  const write = (_fields: unknown, message: string) => void logged.push(message)
  const log = { debug: write, info: write, warn: write, error: write }
  const around = { name: 'alipay', publicUrl: () => new URL(listener.url).origin, clock, random: seededRandom(1), log }
  const provider = openAlipay(
    {
      APP_ID: texts.ALIPAY_APP_ID!,
      SELLER_ID: texts.ALIPAY_SELLER_ID,
      PRIVATE_KEY: createPrivateKey(texts.ALIPAY_PRIVATE_KEY!),
      PUBLIC_KEY: texts.ALIPAY_PUBLIC_KEY === undefined ? undefined : createPublicKey(texts.ALIPAY_PUBLIC_KEY),
      APP_CERT: texts.ALIPAY_APP_CERT,
      PUBLIC_CERT: texts.ALIPAY_PUBLIC_CERT,
      ROOT_CERT: texts.ALIPAY_ROOT_CERT,
      METHODS: methods,
      GATEWAY: gateway ?? texts.ALIPAY_GATEWAY!,
    },
    around,
  )
  const never = new AbortController().signal
  /** The field `out_trade_no` of a notice. */
  const refOf = (rawBody: Uint8Array) => new URLSearchParams(Buffer.from(rawBody).toString()).get('out_trade_no')
  return {
    server,
    listener,
    provider,
    clock,
    logged,
    never,
    /** The first notice about this payment of which `which` is true. */
    received: (ref: string, which: (delivery: Delivery) => boolean = () => true) =>
      until(`a notice about ${ref}`, () => listener.deliveries.find(one => refOf(one.rawBody) === ref && which(one))),
    async start(ref: string, more: Partial<PaymentRequest> = {}) {
      const amount = { amount: 199_900, currency: 'CNY' }
      const payByMs = clock.now() + 900_000
      return provider.start({ ref, amount, description: 'Phone', returnUrl: undefined, payByMs, ...more }, never)
    },
    shiftClock(ms: number) {
      shiftMs += ms
    },
    async close() {
      await server.close()
      await listener.close()
    },
  }
}
