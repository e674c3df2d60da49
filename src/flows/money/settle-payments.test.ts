import { afterEach, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { type Loop, startLoop } from '../../base/loop.ts'
import type { PaymentKey, PaymentProvider } from '../../payment/payment.ts'
import { PaymentSettler } from './settle-payments.ts'

const SILENT = 5_000
/** The promise; the test gives it five times the room. */
const REFUND_MS = 5_000

const ledger = ledgerForFile()
let stop = new AbortController()
let loop: Loop | undefined
afterEach(async () => {
  stop.abort()
  await loop?.stopped
  stop = new AbortController()
  await ledger.sql("UPDATE payments SET state = 'void' WHERE state IN ('started', 'refund_due')")
})

/** Providers that answer refunds or not, and no query; each `slow` one until its asker gives up. */
function createProviders() {
  const queried: string[] = []
  const refunded = new Map<string, number>()
  const underWay = new Map<string, number>()
  let mostAtOnce = 0
  async function silence(ref: string, signal: AbortSignal): Promise<never> {
    const others = underWay.get(ref) ?? 0
    underWay.set(ref, others + 1)
    mostAtOnce = Math.max(mostAtOnce, others + 1)
    await new Promise(done => void signal.addEventListener('abort', done, { once: true }))
    underWay.set(ref, others)
    throw new Fault('payment_unreachable', 'no answer', { retryable: true, outcomeUnknown: true })
  }
  const provider = (name: string, refund: PaymentProvider['refund']) => {
    const query = ({ ref }: PaymentKey, signal: AbortSignal) => {
      queried.push(ref)
      return silence(ref, signal)
    }
    return { name, query, cancel: query, refund } as unknown as PaymentProvider
  }
  const refund = async ({ ref }: PaymentKey) => {
    refunded.set(ref, systemClock.elapsed())
    return { state: 'refunded' } as const
  }
  const all = [
    provider('silent', ({ ref }, _, signal) => silence(ref, signal)),
    provider('half', refund),
    provider('brisk', refund),
  ]
  return { queried, refunded, mostAtOnce: () => mostAtOnce, all }
}

function settle(providers: readonly PaymentProvider[], alarm: (what: string) => void = () => {}): void {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const settler = new PaymentSettler({
    payments: ledger.payments,
    refunds: ledger.refunds,
    providers: new Map(providers.map(provider => [provider.name, provider])),
    clock: systemClock,
    log,
    onPaid() {},
    onRefundDue() {},
    onPaymentChanged() {},
    onRefundSent() {},
    alarm,
  })
  const run = async () => {
    while ((await settler.round()) && !stop.signal.aborted);
  }
  loop = startLoop({ name: 'payments', everyMs: 200, clock: systemClock, log, signal: stop.signal, run })
}

/** Rows as a buyer's start or an operator's refund leaves them, due at once. */
async function add(provider: string, state: 'started' | 'refund_due', count = 1): Promise<string> {
  const { item } = await ledger.openItem()
  const ids = Array.from({ length: count }, () => ledger.id())
  await ledger.sql(
    `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state)
     SELECT id, id, $2, $3, id::text, 1000, 'CNY', $4 FROM unnest($1::bigint[]) id`,
    [ids, item, provider, state],
  )
  return ids[0]!
}

test('with 5,000 payments of a silent provider, refunds at other providers and those it does answer go out at once', async () => {
  const { all, queried, refunded, mostAtOnce } = createProviders()
  await add('silent', 'started', SILENT)
  await add('silent', 'refund_due', 500)
  await add('half', 'started', SILENT)
  settle(all)
  await until('more are asked about than fit into a lane', () => queried.length > 600)

  const dueMs = systemClock.elapsed()
  for (const provider of ['brisk', 'half']) {
    const ref = await add(provider, 'refund_due')
    const sentMs = await until('the refund is sent', () => refunded.get(ref), 5 * REFUND_MS)
    console.log(`  refund at ${provider} sent after ${Math.round(sentMs - dueMs)} ms`)
    await until('the ledger knows', async () => (await ledger.payments.find(provider, ref))?.state === 'refunded')
  }
  expect(mostAtOnce(), 'nothing is asked a second time while the first question is under way').toBe(1)
}, 300_000)

test('a refund at a provider that is not configured is tried, and raises its alarm', async () => {
  const { all } = createProviders()
  const alarms: string[] = []
  const ref = await add('gone', 'refund_due')
  settle(all, what => void alarms.push(what))
  await until('the alarm', () => alarms.includes('refund_impossible'))
  expect((await ledger.payments.find('gone', ref))?.state).toBe('refund_due')
})
