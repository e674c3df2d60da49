/**
 * A sandbox with everything around it that a running process has: a listener for its callbacks over HTTP, a clock that can be shifted, a
 * buyer at the pay page. Seeded, on its own ports, and gone after `close`.
 */

import { assert } from '../../base/assert.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { listenForCallbacks } from '../contract/callback-listener.ts'
import type { PaymentProvider, PaymentRequest } from '../payment.ts'
import { ACKNOWLEDGEMENT } from './callback-sender.ts'
import { createMemoryStore } from './memory-store.fixture.ts'
import { PaymentRepository, type SandboxRows } from './payment-repository.ts'
import { Sandbox } from './sandbox.ts'
import { handleSandbox } from './sandbox-http.ts'
import { createSandboxKeys } from './sandbox-keys.ts'

interface ShopOptions {
  readonly secret?: string
  readonly rows?: SandboxRows
  readonly paymentsMax?: number
  readonly pendingMax?: number
}

export async function openSandboxShop(options: ShopOptions = {}) {
  const { secret = 'a secret for tests only', rows = createMemoryStore(), paymentsMax, ...limits } = options
  const listener = await listenForCallbacks(ACKNOWLEDGEMENT)
  let shiftMs = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + shiftMs }
  const logged: string[] = []
  const write = (_fields: unknown, message: string) => void logged.push(message)
  const log: Log = { debug: write, info: write, warn: write, error: write }
  const keys = createSandboxKeys(secret)
  const sandbox = new Sandbox({
    payments: new PaymentRepository(rows, clock, paymentsMax),
    keys,
    clock,
    log,
    random: seededRandom(1),
    callbackUrl: () => listener.url,
    publicUrl: () => 'http://shop.example',
    retryBaseMs: 2,
    ...limits,
  })
  const provider: PaymentProvider = sandbox
  const never = new AbortController().signal

  /** A request to the pay page's address, or below it. */
  const ask = async (method: string, url: string, wish: { accept?: string; acceptLanguage?: string } = {}) => {
    const { accept = '', acceptLanguage = '' } = wish
    const request = new Request(url, { method, headers: { accept, 'accept-language': acceptLanguage } })
    const answer = await handleSandbox(sandbox, keys, request)
    const headers: Record<string, string | undefined> = Object.fromEntries(answer.headers)
    return { status: answer.status, headers, body: await answer.text() }
  }

  return {
    sandbox,
    keys,
    clock,
    log,
    logged,
    provider,
    listener,
    ask,
    post: (url: string) => ask('POST', url, { accept: 'application/json' }),
    async start(ref: string, more: Partial<PaymentRequest> = {}): Promise<string> {
      const amount = { amount: 199_900, currency: 'CNY' }
      const payByMs = clock.now() + 900_000
      const request = { ref, amount, description: 'Phone', returnUrl: undefined, payByMs, ...more }
      return (await provider.start(request, never)).payUrl
    },
    query: (ref: string) => provider.query({ ref }, never),
    cancel: (ref: string) => provider.cancel({ ref }, never),
    refund: (ref: string) =>
      provider.refund({ ref }, { key: 'key', captured: { amount: 199_900, currency: 'CNY' } }, never),
    shiftClock(ms: number) {
      shiftMs += ms
    },
    /** What the n-th callback says when it passes the check. */
    event(n: number) {
      const delivery = listener.deliveries[n]
      assert(delivery !== undefined, `there was no callback ${n}`)
      return provider.verify(delivery.rawBody, delivery.headers)
    },
    async close() {
      listener.letGo()
      await sandbox.stop()
      await listener.close()
    },
  }
}

export type SandboxShop = Awaited<ReturnType<typeof openSandboxShop>>
