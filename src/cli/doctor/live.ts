/**
 * `stampede doctor --live`: may real buyers pay here? Asks each configured provider whether keys, clock and settings fit, and asks this shop's own
 * public address for its callbacks, as a provider would. Pays nothing and changes nothing.
 */

import { isIP } from 'node:net'
import type { Config } from '../../app/config/config.ts'
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { PaymentProvider } from '../../payment/payment.ts'
import { bad, type Finding, good } from './finding.ts'

const ASK_MS_MAX = 15_000
/** A problem of ours is shorter. */
const ANSWER_LENGTH_MAX = 4_096
const LOOPBACK = /^(?:localhost|.*\.localhost|127\..*|\[::1\]|0\.0\.0\.0|\[::\])$/i
const PRIVATE = /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|\[f[cd]|\[fe80:)/i

type LiveSettings = Pick<Config, 'publicUrl' | 'guestSignIn' | 'paymentProviders'>

/** @param providers those that are configured, without the sandbox */
export async function checkLive(
  settings: LiveSettings,
  providers: readonly PaymentProvider[],
  clock: Clock,
): Promise<readonly Finding[]> {
  const found = [...checkSettings(settings), checkPublicUrl(settings.publicUrl)]
  for (const provider of providers) {
    found.push(...(await examine(provider, clock)))
    if (settings.publicUrl !== undefined) found.push(await checkCallback(provider, settings.publicUrl, clock))
  }
  return found
}

function checkSettings({ paymentProviders, guestSignIn }: LiveSettings): readonly Finding[] {
  const real = paymentProviders.filter(name => name !== 'sandbox')
  return [
    real.length > 0
      ? good('live: providers', real.join(', '))
      : bad('live: providers', 'none takes real money', 'name one in PAYMENT_PROVIDERS (docs/payments.md)'),
    paymentProviders.includes('sandbox')
      ? bad('live: sandbox', 'on: buyers approve their own payments', 'take sandbox out of PAYMENT_PROVIDERS')
      : good('live: sandbox', 'off'),
    guestSignIn
      ? bad(
          'live: guests',
          'on: a visitor can sign in under any name',
          'set GUEST_SIGN_IN=off, and sign buyers in with BUYER_JWT_SECRET or BUYER_JWKS_URL',
        )
      : good('live: guests', 'off'),
  ]
}

function checkPublicUrl(publicUrl: string | undefined): Finding {
  const what = 'live: PUBLIC_URL'
  const todo = 'set PUBLIC_URL to the https address at which the world reaches this shop'
  if (publicUrl === undefined) return bad(what, 'not set: providers do not know where to call back', todo)
  const { protocol, hostname } = new URL(publicUrl)
  if (LOOPBACK.test(hostname)) return bad(what, `${publicUrl} is this machine only: no provider reaches it`, todo)
  if (PRIVATE.test(hostname)) return bad(what, `${publicUrl} is a private address: no provider reaches it`, todo)
  if (protocol !== 'https:')
    return bad(what, `${publicUrl} is not https: providers do not call it, or in the clear`, todo)
  return good(what, isIP(hostname) ? `${publicUrl}; providers may want a name` : publicUrl)
}

async function examine(provider: PaymentProvider, clock: Clock): Promise<readonly Finding[]> {
  const what = (check: string) => `live: ${provider.name}: ${check}`
  if (provider.examine === undefined) return [good(what('keys'), 'nothing to ask')]
  try {
    const findings = await withDeadline(clock, ASK_MS_MAX, async signal => provider.examine?.(signal))
    return (findings ?? []).map(({ what: check, ok, detail }) =>
      ok ? good(what(check), detail) : bad(what(check), 'not as it must be', detail),
    )
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const advice = 'check its keys, its status page, and that this machine reaches it'
    return [bad(what('keys'), `the provider could not be asked (${error.code})`, advice)]
  }
}

/** As a provider that can't sign would ask: the right answer is that the signature is wrong. */
async function checkCallback(provider: PaymentProvider, publicUrl: string, clock: Clock): Promise<Finding> {
  const url = `${publicUrl.replace(/\/+$/, '')}/api/payments/${provider.name}/${provider.reports ? 'captures' : 'callback'}`
  const what = `live: ${provider.name}: callback address`
  const ask = (signal: AbortSignal) =>
    fetch(url, {
      method: 'POST',
      body: '{}',
      redirect: 'manual',
      signal,
      headers: { 'content-type': 'application/json' },
    })
  try {
    const { status, text } = await withDeadline(clock, ASK_MS_MAX, async signal => {
      const response = await ask(signal)
      return { status: response.status, text: (await response.text()).slice(0, ANSWER_LENGTH_MAX) }
    })
    if (status === 401 && text.includes('"signature_invalid"')) return good(what, `${url} refuses what is not signed`)
    const found = `${url} answers ${status}, not 401 signature_invalid`
    return bad(what, found, adviceFor(status))
  } catch (error) {
    const why = error instanceof Error ? ((error as { code?: string }).code ?? error.name) : 'no answer'
    const advice = 'start the server, and check DNS, certificate, firewall and the proxy in front of it'
    return bad(what, `${url} can't be reached from here (${why})`, advice)
  }
}

function adviceFor(status: number): string {
  if (status === 404) return 'the server there does not have this provider: give all edges the same PAYMENT_PROVIDERS'
  if (status >= 300 && status < 400) return 'no redirect may stand before it: set PUBLIC_URL to where it leads'
  if (status >= 500) return 'the proxy does not reach the server, or the server fails: look at its log'
  return 'something in front of the server answers instead of it: let POST /api/payments/ through'
}
