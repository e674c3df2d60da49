import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { noMeters } from '../../base/meters.ts'
import { systemRandom } from '../../base/random.ts'
import type { PaymentProvider } from '../../payment/payment.ts'
import { watchProvider } from '../../payment/watched-provider.ts'
import { ProviderHealth } from './provider-health.ts'

const ledger = ledgerForFile()
const never = new AbortController().signal

/** A process of a cluster, with a clock that is moved by hand. */
function open(name: string) {
  let nowMs = 1_800_000_000_000
  let mood: 'ok' | 'refused' | 'unreachable' | 'bug' = 'ok'
  const clock = { ...systemClock, now: () => nowMs, elapsed: () => nowMs }
  const health = new ProviderHealth({ ...ledger, clock, random: systemRandom, meters: noMeters })
  health.add(name)
  class Provider {
    readonly name = name
    readonly #secret = 'kept'
    readonly acknowledgement = { contentType: 'text/plain', body: 'ok' }
    takes = () => this.#secret === 'kept'
    async query() {
      nowMs += 40
      if (mood === 'bug') throw new TypeError('a bug')
      if (mood !== 'ok') throw new Fault(`payment_${mood}`, 'no', { retryable: mood === 'unreachable' })
      return { state: 'open' } as const
    }
    verify = async (body: Uint8Array) => (body.length === 0 ? undefined : { kind: 'other' })
  }
  const provider = watchProvider(new Provider() as unknown as PaymentProvider, health, clock)
  return {
    health,
    provider,
    pass(ms: number) {
      nowMs += ms
    },
    async ask(how: typeof mood, times = 1) {
      mood = how
      const failures: unknown[] = []
      for (let i = 0; i < times; i++) await provider.query({ ref: 'r' }, never).catch(error => failures.push(error))
      await health.round()
      return failures
    },
  }
}

test('calls are counted by kind and outcome, with how long they took; a bug is no answer of the provider', async () => {
  const one = open('counted')
  await one.ask('ok', 3)
  expect(await one.ask('refused')).toMatchObject([{ code: 'payment_refused' }])
  expect(await one.ask('unreachable')).toMatchObject([{ code: 'payment_unreachable' }])
  expect(await one.ask('bug')).toBeInstanceOf(Array)
  await one.provider.verify(new Uint8Array(), new Headers())
  await one.provider.verify(new Uint8Array(1), new Headers())
  expect(one.provider.takes('CNY'), 'everything else is the provider’s own').toBe(true)
  expect(one.provider.acknowledgement.body).toBe('ok')
  const [figures] = (await one.health.figures()).filter(({ provider }) => provider === 'counted')
  expect(figures).toMatchObject({
    calls: { query: { ok: 3, refused: 1, unreachable: 1 }, start: { ok: 0, refused: 0, unreachable: 0 } },
    p50Ms: 40,
    callbacks: 1,
    forged: 1,
    failedInARow: 1,
    silent: false,
    started: 0,
  })
})

test('a provider is silent after three calls without an answer at any process, until one has an answer or nothing is asked', async () => {
  const [edge, keeper] = [open('mute'), open('mute')]
  const silent = async (of: typeof edge) => {
    await of.health.refresh()
    return of.health.silent().filter(({ provider }) => provider === 'mute')
  }
  await keeper.ask('unreachable', 2)
  expect(await silent(edge)).toEqual([])
  await keeper.ask('unreachable')
  expect(await silent(edge), 'the edge has asked nothing itself').toEqual([{ provider: 'mute', count: 3 }])
  expect(await silent(keeper)).toHaveLength(1)
  // A refusal is an answer.
  edge.pass(1_000)
  await edge.ask('refused')
  expect([await silent(edge), await silent(keeper)]).toEqual([[], []])

  keeper.pass(60_000)
  await keeper.ask('unreachable', 3)
  expect(await silent(keeper)).toHaveLength(1)
  keeper.pass(299_000)
  expect(await silent(keeper)).toHaveLength(1)
  keeper.pass(2_000)
  expect(await silent(keeper)).toEqual([])
})

test('counts of all processes are added up, written again without harm, and forgotten a day after the last change', async () => {
  const [one, other] = [open('shared'), open('shared')]
  await one.ask('ok', 2)
  await other.ask('ok', 5)
  await one.health.round()
  const queries = async () => (await one.health.figures()).find(({ provider }) => provider === 'shared')?.calls.query.ok
  expect(await queries()).toBe(7)
  await ledger.sql("UPDATE provider_counts SET saved_at = saved_at - interval '2 days' WHERE provider = 'shared'")
  await one.ask('ok')
  expect(await queries()).toBe(3)
  const left = await ledger.sql("SELECT count(*)::int AS rows FROM provider_counts WHERE provider = 'shared'")
  expect(left).toEqual([{ rows: 1 }])
})
