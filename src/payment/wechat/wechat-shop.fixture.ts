/** For tests: our side of WeChat Pay: the provider, opened by the settings of a local server, and a listener for its callbacks. */

import type { Clock } from '../../base/clock.ts'
import { systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { systemRandom } from '../../base/random.ts'
import { listenForCallbacks } from '../contract/callback-listener.ts'
import type { PaymentRequest } from '../payment.ts'
import { Wechat, type WechatMethod } from './wechat.ts'
import { openWechatServer } from './wechat-server.fixture.ts'

export const AMOUNT = { amount: 199_900, currency: 'CNY' }
export const patient = new AbortController().signal

export type WechatShop = Awaited<ReturnType<typeof openWechatShop>>

export async function openWechatShop(
  signsWith: 'certificate' | 'public key' = 'certificate',
  changes: { readonly apiV3Key?: string; readonly publicUrl?: string; readonly withoutKeys?: boolean } = {},
) {
  const server = await openWechatServer(signsWith)
  const setting = (rest: string) => server.settings[`WECHAT_${rest}`]!
  const { publicKeyId: id, publicKeyPem: pem } = server.signer
  const listener = await listenForCallbacks({ body: '{"code":"SUCCESS"}' })
  let shiftMs = 0
  let elapsedMs = 0
  const clock: Clock = {
    now: () => systemClock.now() + shiftMs,
    elapsed: () => systemClock.elapsed() + elapsedMs,
    sleep: systemClock.sleep,
  }
  const logged: string[] = []
  const keep = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`)
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep }
  const provider = new Wechat({
    account: {
      name: 'wechat',
      mchId: setting('MCH_ID'),
      appId: setting('APP_ID'),
      apiV3Key: changes.apiV3Key ?? setting('API_V3_KEY'),
      privateKey: setting('PRIVATE_KEY'),
      serialNo: setting('SERIAL_NO'),
      publicKeys: signsWith === 'public key' && !changes.withoutKeys ? [{ id, pem }] : [],
      apiBase: setting('API_BASE'),
    },
    methods: setting('METHODS').split(',') as WechatMethod[],
    callbackUrl: () => listener.url,
    publicUrl: () => changes.publicUrl ?? 'https://shop.example',
    clock,
    random: systemRandom,
    log,
  })

  let made = 0
  const requestOf = (more: Partial<PaymentRequest> = {}): PaymentRequest => ({
    ref: `${7_000_000_000_000_000_000n + BigInt(++made)}`,
    amount: AMOUNT,
    description: 'Phone, 1 unit',
    returnUrl: undefined,
    payByMs: clock.now() + 900_000,
    ...more,
  })
  const start = async (more: Partial<PaymentRequest> = {}) => {
    const request = requestOf(more)
    return { ref: request.ref, request, ...(await provider.start(request, patient)) }
  }
  return {
    server,
    provider,
    listener,
    clock,
    logged,
    requestOf,
    start,
    /** Paid, and the callback lost. */
    async paid(more: Partial<PaymentRequest> = {}) {
      const started = await start(more)
      await server.approve(started.payUrl, 'lost')
      return { ...started, trade: server.inside.tradeOf(started.payUrl) }
    },
    query: (ref: string) => provider.query({ ref }, patient),
    cancel: (ref: string) => provider.cancel({ ref }, patient),
    refund: (ref: string, key = 'k', part?: number) =>
      provider.refund(
        { ref },
        { key, captured: AMOUNT, part: part === undefined ? part : { ...AMOUNT, amount: part } },
        patient,
      ),
    downloads: () => server.requests.filter(one => one === 'GET /v3/certificates').length,
    /** Of our clock alone. */
    shiftClock(ms: number) {
      shiftMs += ms
    },
    passTime(ms: number) {
      elapsedMs += ms
    },
    async close() {
      await server.close()
      await listener.close()
    },
  }
}
