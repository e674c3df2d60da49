/** Every provider in one server: paid or closed, never both, by the providers' own books. The long form is `providers.long.test.ts`. */

import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { KILLS, PROVIDER_NAMES, ProviderStage } from './provider-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const ORDERS_EACH = 30

/** What the local providers tell of a buyer: an account, a card, a name. */
const IDENTIFYING = [
  /"last4"/,

  /buyer_logon_id/,
  /buyer_id/,
  /buyer_user_id/,
  /openid/i,
  /payer_client_ip/,
  /billing_details/,
  // As the local providers name them.
  /159\*\*\*\*5620/,
  /oUpF8uMuAJO/,
]

test('orders that are paid around their deadline, a few at each provider: the money fits to the cent, and no trace of a card or an account is left', async () => {
  const stage = await ProviderStage.open(playground, PROVIDER_NAMES, ORDERS_EACH * PROVIDER_NAMES.length)
  await stage.payAgainstClose(ORDERS_EACH)
  const traces = await stage.traces()
  expect(traces).toContain('stripe')
  for (const what of IDENTIFYING) expect(traces).not.toMatch(what)
}, 300_000)

test('kill -9 where a payment starts, is captured, closed and refunded, each point at another provider', async () => {
  const stage = await ProviderStage.open(playground, PROVIDER_NAMES, KILLS.length)
  for (const [i, point] of KILLS.entries()) await stage.dieAt(point, PROVIDER_NAMES[i % PROVIDER_NAMES.length]!)
}, 300_000)
