/** What must be true at Stripe before real buyers pay: keys, permissions, mode, clock and the webhook endpoint. Only reads. */

import { Fault } from '../../base/fault.ts'
import type { PaymentProvider } from '../payment.ts'
import { EVENT_TYPES } from './stripe-callbacks.ts'
import type { StripeCalls } from './stripe-calls.ts'

type Findings = Awaited<ReturnType<NonNullable<PaymentProvider['examine']>>>
type Finding = Findings[number]

interface ExaminationOptions {
  readonly calls: StripeCalls
  readonly live: boolean
  readonly callbackUrl: string
  readonly secretCount: number
}

/** Callbacks with a larger difference are refused at 300 s; well before, somebody should know. */
const SKEW_MS_MAX = 60_000

export async function examineStripe(options: ExaminationOptions, signal: AbortSignal): Promise<Findings> {
  const { calls, live, secretCount } = options
  const key = await finding('secret key', async () => {
    await Promise.all([
      calls.call(signal, stripe => stripe.checkout.sessions.list({ limit: 1 })),
      calls.call(signal, stripe => stripe.paymentIntents.list({ limit: 1 })),
      calls.call(signal, stripe => stripe.refunds.list({ limit: 1 })),
    ])
    return { ok: true, detail: 'Stripe accepts it for sessions, payment intents and refunds.' }
  })
  const mode = {
    what: 'mode',
    ok: live,
    detail: live ? 'Live: buyers pay with real money.' : 'Test: no money moves. Set a live key before real buyers pay.',
  }
  const secrets = {
    what: 'webhook secret',
    ok: true,
    detail: `${secretCount} set. Only a callback shows whether it is the right one: send a test event from Stripe.`,
  }
  return [key, mode, clockFinding(calls.aheadMs), secrets, await endpointFinding(options, signal)]
}

function clockFinding(aheadMs: number | undefined): Finding {
  if (aheadMs === undefined) return { what: 'clock', ok: false, detail: 'Unknown: Stripe did not answer.' }
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  const ok = Math.abs(aheadMs) <= SKEW_MS_MAX
  const detail = `${seconds} s from Stripe's.`
  return { what: 'clock', ok, detail: ok ? detail : `${detail} Set it: callbacks are refused from 300 s on.` }
}

function endpointFinding({ calls, callbackUrl }: ExaminationOptions, signal: AbortSignal): Promise<Finding> {
  return finding('webhook endpoint', async () => {
    const { data } = await calls.call(signal, stripe => stripe.webhookEndpoints.list({ limit: 100 }))
    const endpoint = data.find(({ url }) => url === callbackUrl)
    if (endpoint === undefined) return { ok: false, detail: `Stripe has no endpoint ${callbackUrl}: add it.` }
    if (endpoint.status !== 'enabled') return { ok: false, detail: `${callbackUrl} is disabled at Stripe: enable it.` }
    const all = endpoint.enabled_events.includes('*')
    const missing = EVENT_TYPES.filter(type => !all && !endpoint.enabled_events.includes(type))
    return missing.length === 0
      ? { ok: true, detail: `${callbackUrl} is enabled with all events.` }
      : { ok: false, detail: `${callbackUrl} does not get ${missing.join(', ')}: add these events.` }
  })
}

async function finding(what: string, look: () => Promise<Omit<Finding, 'what'>>): Promise<Finding> {
  try {
    return { what, ...(await look()) }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { what, ok: false, detail: `${error.message}.` }
  }
}
