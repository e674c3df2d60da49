import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { Fault } from '../../base/fault.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import { createSandboxPayments } from '../../ledger/postgres/money/payments.ts'
import { paymentContract } from '../payment.contract.ts'
import type { SandboxRows } from './payment-repository.ts'
import { givenBack } from './sandbox-payment.ts'
import { openSandboxShop, type SandboxShop } from './sandbox-shop.fixture.ts'

const ledger = ledgerForFile()

let shops = 0
paymentContract('sandbox with a shared repository', async () => {
  // A sandbox with its own key has its own rows; edge and keeper are two processes of the same sandbox.
  const secret = `the secret of shop ${++shops}`
  const shared = createSandboxPayments(ledger.database)
  const edge = await openSandboxShop({ secret, rows: shared })
  const keeper = await openSandboxShop({ secret, rows: shared })
  return {
    // Whatever the engine asks, it asks through another process than the one that the buyer stands before.
    provider: keeper.provider,
    now: edge.clock.now,
    approve: async payUrl => void (await edge.post(`${payUrl}/approve`)),
    decline: async payUrl => void (await edge.post(`${payUrl}/decline`)),
    received: (ref, which = () => true) => {
      const isOf = (rawBody: Uint8Array) => JSON.parse(Buffer.from(rawBody).toString()).ref === ref
      return until(`a callback about ${ref}`, () =>
        [...edge.listener.deliveries, ...keeper.listener.deliveries].find(one => isOf(one.rawBody) && which(one)),
      )
    },
    givenBack: async ref => {
      const payment = await edge.sandbox.find(ref)
      return payment === undefined ? 0 : givenBack(payment)
    },
    cutOff: async ref => keeper.sandbox.hide(ref, 60_000),
    reconnect: async ref => keeper.sandbox.hide(ref, 0),
    shiftClock: keeper.shiftClock,
    close: async () => {
      await edge.close()
      await keeper.close()
    },
  }
})

describe('two sandboxes over the same rows', () => {
  let [edge, keeper]: SandboxShop[] = []
  let shops: SandboxShop[] = []
  const open = async (more: Parameters<typeof openSandboxShop>[0] = {}) => {
    const shop = await openSandboxShop({ rows: createSandboxPayments(ledger.database), ...more })
    shops.push(shop)
    return shop
  }
  beforeEach(async () => {
    for (const shop of shops) await shop.close()
    shops = []
    await ledger.sql('TRUNCATE sandbox_payments')
    edge = await open()
    keeper = await open()
  })
  afterAll(async () => {
    for (const shop of shops) await shop.close()
  })

  test('approve at one and cancel at the other, 200 times: exactly one wins, and both say the same', async () => {
    const seen = { captured: 0, void: 0 }
    for (let n = 0; n < 200; n++) {
      const payUrl = await edge!.start(`race-${n}`)
      const approve = () => edge!.post(`${payUrl}/approve`)
      const cancel = () => keeper!.cancel(`race-${n}`)
      const [approved, cancelled] = await (n % 2 === 0
        ? Promise.all([approve(), cancel()])
        : Promise.all([cancel(), approve()]).then(([said, page]) => [page, said] as const))
      const states = await Promise.all([edge!, keeper!].map(async shop => (await shop.query(`race-${n}`)).state))
      expect([approved.status === 200 ? 'captured' : 'void', cancelled.state, ...states]).toEqual(
        Array(4).fill(states[0]),
      )
      seen[states[0] as 'captured' | 'void'] += 1
    }
    console.log(seen)
    // Who lost the race tells nobody.
    await until('every callback', () => edge!.listener.deliveries.length >= seen.captured)
    expect(edge!.listener.deliveries.length).toBe(seen.captured)
    expect(keeper!.listener.deliveries.length).toBe(0)
    expect(Math.min(seen.captured, seen.void), 'a race that one side always wins is none').toBeGreaterThan(0)
  })

  test('every move at random at either: money is taken once, given back once, and never after void', async () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    console.log(`seed ${seed}`)
    const random = seededRandom(seed)
    const pick = <T>(list: readonly T[]) => list[Math.floor(random.next() * list.length)]!
    const seen: Record<string, number> = { captured: 0, void: 0, refunded: 0 }
    for (let n = 0; n < 300; n++) {
      const ref = String(n + 1)
      const payUrl = await edge!.start(ref)
      const moves = [
        (at: SandboxShop) => at.post(`${payUrl}/approve?mode=lost`).then(({ status }) => ({ paid: status === 200 })),
        (at: SandboxShop) => at.post(`${payUrl}/decline`).then(({ status }) => ({ voided: status === 200 })),
        (at: SandboxShop) => at.cancel(ref).then(({ state }) => ({ voided: state === 'void', paid: state !== 'void' })),
        (at: SandboxShop) => at.refund(ref).then(({ state }) => ({ paid: state === 'refunded' })),
      ]
      const told: { paid?: boolean; voided?: boolean }[] = await Promise.all(
        Array.from({ length: 4 }, () => pick(moves)(pick([edge!, keeper!]))),
      )
      if (n % 3 === 0 && told.some(one => one.paid)) await keeper!.refund(ref)
      const { state } = await keeper!.query(ref)
      seen[state] = (seen[state] ?? 0) + 1
      const paid = told.some(one => one.paid)
      const voided = told.some(one => one.voided)
      expect(paid && voided).toBe(false)
      if (paid) expect(['captured', 'refunded']).toContain(state)
      if (voided) expect(state).toBe('void')
    }
    console.log(seen)
    for (const state of ['captured', 'void', 'refunded']) expect(seen[state]).toBeGreaterThan(10)
  })

  test('a move whose answer is lost has happened once, and is told', async () => {
    const rows = createSandboxPayments(ledger.database)
    let losing = false
    const shared: SandboxRows = {
      ...rows,
      async replace(ref, before, row) {
        if (losing) {
          // As the ledger's own retry does it: the first COMMIT's answer never came, the same statement runs again.
          expect(await rows.replace(ref, before, row)).toBe(true)
        }
        return rows.replace(ref, before, row)
      },
    }
    const shop = await open({ rows: shared })
    losing = true
    const payUrl = await shop.start('1')
    expect((await shop.post(`${payUrl}/approve`)).body).toBe('{"state":"captured"}')
    await until('its callback', () => shop.listener.deliveries.length === 1)
    expect(await shop.refund('1')).toEqual({ state: 'refunded' })
  })

  test('unreachable rows are a provider that does not answer, never a state', async () => {
    const away = () => Promise.reject(new Fault('ledger_away', 'the ledger is away', { retryable: true }))
    const shop = await open({ rows: { read: away, replace: away, count: away, forget: away } })
    const unreachable = { code: 'payment_unreachable', retryable: true, outcomeUnknown: true }
    await expect(shop.query('1')).rejects.toMatchObject(unreachable)
    await expect(shop.cancel('1')).rejects.toMatchObject(unreachable)
    await expect(shop.start('1')).rejects.toMatchObject(unreachable)
    const payUrl = await edge!.start('1')
    for (const [method, url] of [
      ['GET', payUrl],
      ['POST', `${payUrl}/approve`],
    ] as const)
      expect((await shop.ask(method, url)).status).toBe(503)
    expect((await edge!.query('1')).state).toBe('open')
  })

  test('a row that is not the payment is a fault, not a payment never heard of', async () => {
    await edge!.start('1')
    await ledger.sql(`UPDATE sandbox_payments SET body = replace(body, '"1"', '"2"')`)
    await expect(edge!.query('1')).rejects.toMatchObject({ code: 'sandbox_store_unreadable' })
    await ledger.sql(`UPDATE sandbox_payments SET body = '{'`)
    await expect(keeper!.cancel('1')).rejects.toMatchObject({ code: 'sandbox_store_unreadable' })
  })

  test('start no more payments than they can keep, also not many at once, and go on with those they have', async () => {
    const shop = await open({ paymentsMax: 5 })
    const started = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => shop.start(`p${n}`)))
    const refused = started.filter(one => one.status === 'rejected').map(one => one.reason as Fault)
    expect(refused.length).toBe(15)
    for (const fault of refused) expect(fault).toMatchObject({ code: 'payment_busy' })
    const payUrl = (started.find(one => one.status === 'fulfilled') as PromiseFulfilledResult<string>).value
    expect((await edge!.post(`${payUrl}/approve`)).status).toBe(200)
  })

  test('make room by forgetting what was settled a day ago, never money they still have', async () => {
    const shop = await open({ paymentsMax: 4 })
    await edge!.post(`${await shop.start('taken')}/approve?mode=lost`)
    await edge!.post(`${await shop.start('back')}/approve?mode=lost`)
    await keeper!.refund('back')
    await shop.cancel('gone')
    await shop.start('open')
    await expect(shop.start('new')).rejects.toMatchObject({ code: 'payment_busy' })
    shop.shiftClock(86_400_001)
    await shop.start('new')
    const states = ['taken', 'back', 'gone', 'open', 'new'].map(async ref => (await keeper!.query(ref)).state)
    expect(await Promise.all(states)).toEqual(['captured', 'unknown', 'unknown', 'open', 'open'])
  })
})
