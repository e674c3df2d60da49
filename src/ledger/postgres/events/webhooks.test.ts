import { describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../../test/harness/flow-stage.ts'
import { until } from '../../../../test/harness/until.ts'
import type { SettledTry } from '../../webhooks.ts'
import { createWebhookQueue, createWebhooks } from './webhooks.ts'

const ledger = ledgerForFile()
const webhooks = () => createWebhooks(ledger.database)
const queue = () => createWebhookQueue(ledger.database)

const DAY_MS = 86_400_000
const MANY = 1_000

async function endpoint(cursor = 0): Promise<string> {
  const id = ledger.id()
  const made = { id, url: 'https://shop.example/', about: 'test', types: [], cursor, secret: `whsec_${id}` }
  expect(await webhooks().create(made, 'op', MANY)).toBe(true)
  return id
}

const deliveries = (...events: number[]) => events.map(event => ({ event, type: 'stampede.order.paid', subject: 'o1' }))
const tried = (event: number, tries: number, state: SettledTry['state']): SettledTry => ({
  event,
  tries,
  state,
  dueInMs: 5_000,
  status: 500,
  problem: 'answer',
  detail: undefined,
  answer: 'no',
  tookMs: 3,
})
const RESULT = { goneUnder: undefined, failing: true }

describe('the sender', () => {
  test('writes nothing any more once another has claimed the term', async () => {
    const id = await endpoint()
    const first = await queue().claim()
    expect(await queue().queue(first, id, { from: 0, to: 2, skipped: 0 }, deliveries(1, 2), DAY_MS)).toBe(true)
    const second = await queue().claim()
    expect(second).toBeGreaterThan(first)
    expect(await queue().queue(first, id, { from: 2, to: 3, skipped: 0 }, deliveries(3), DAY_MS)).toBe(false)
    expect(await queue().settle(first, id, [tried(1, 1, 'delivered')], { goneUnder: 1, failing: true })).toBe(false)
    expect(await queue().expire(first, id)).toEqual([])
    const [seen] = await webhooks().list(id)
    expect(seen).toMatchObject({ cursor: 2, state: 'active', waiting: 2, failingSinceMs: undefined })
    expect(await queue().settle(second, id, [tried(1, 1, 'delivered')], RESULT)).toBe(true)
    expect((await queue().waiting(id, 10)).map(one => one.event)).toEqual([2])
  })

  test('claims only after writes under way of the term before have ended, and they have not after it', async () => {
    const id = await endpoint()
    const term = await queue().claim()
    await queue().queue(term, id, { from: 0, to: 1, skipped: 0 }, deliveries(1), DAY_MS)
    const [wrote, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const writing = ledger.database.transaction(async run => {
      await run('queue_deliveries', [term, id, 1, 2, 0, DAY_MS, [2], ['stampede.order.paid'], ['o1']])
      wrote.resolve()
      await held.promise
    })
    await wrote.promise
    let claimed = false
    const claiming = queue()
      .claim()
      .then(() => {
        claimed = true
      })
    await until('the claim waits for a lock', async () => {
      const [row] = await ledger.sql(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%webhook_sender SET term%'`,
      )
      return row?.n === 1
    })
    expect(claimed).toBe(false)
    held.resolve()
    await writing
    await claiming
    expect(await queue().settle(term, id, [tried(1, 1, 'delivered')], RESULT)).toBe(false)
  })

  test('moves a cursor only from where it is, and only together with the deliveries', async () => {
    const id = await endpoint(10)
    const term = await queue().claim()
    expect(await queue().queue(term, id, { from: 9, to: 12, skipped: 0 }, deliveries(11, 12), DAY_MS)).toBe(false)
    expect(await queue().waiting(id, 10)).toEqual([])
    expect(await queue().queue(term, id, { from: 10, to: 40, skipped: 25 }, deliveries(36), DAY_MS)).toBe(true)
    expect((await webhooks().list(id))[0]).toMatchObject({ cursor: 40, skipped: 25, waiting: 1 })
  })

  test('may repeat what it wrote: the same try counts once', async () => {
    const id = await endpoint()
    const term = await queue().claim()
    await queue().queue(term, id, { from: 0, to: 1, skipped: 0 }, deliveries(1), DAY_MS)
    for (let i = 0; i < 2; i++) await queue().settle(term, id, [tried(1, 1, 'waiting')], RESULT)
    const [one] = await queue().waiting(id, 10)
    expect(one).toMatchObject({ tries: 1, triesBefore: 0 })
    expect(one!.dueInMs).toBeGreaterThan(0)
    await queue().settle(term, id, [tried(1, 2, 'delivered')], { goneUnder: undefined, failing: false })
    await queue().settle(term, id, [tried(1, 3, 'failed')], { goneUnder: undefined, failing: false })
    expect((await webhooks().deliveries(id, { behind: undefined, state: undefined, limit: 5 }))[0]).toMatchObject({
      state: 'delivered',
      tries: 2,
      answer: 'no',
    })
  })

  test('disables an endpoint that is gone, but not one that was changed or turned off since it was sent to', async () => {
    const id = await endpoint()
    const term = await queue().claim()
    const state = async () => (await webhooks().list(id))[0]?.state
    const revision = async () => (await queue().endpoints()).endpoints.find(one => one.id === id)!.revision
    const settle = (goneUnder: number) => queue().settle(term, id, [], { goneUnder, failing: true })
    const before = await revision()
    await webhooks().change(id, { url: 'https://new.example/' }, 'op', DAY_MS)
    expect(await settle(before)).toBe(true)
    expect(await state()).toBe('active')
    const now = await revision()
    await webhooks().change(id, { state: 'off' }, 'op', DAY_MS)
    await settle(now + 1)
    expect(await state()).toBe('off')
    await webhooks().change(id, { state: 'active' }, 'op', DAY_MS)
    await settle(await revision())
    expect(await state()).toBe('gone')
    const { endpoints, all } = await queue().endpoints()
    expect(endpoints.some(one => one.id === id)).toBe(false)
    expect(all).toContain(id)
  })

  test('keeps no answer for longer than its event, also of what waits', async () => {
    const id = await endpoint()
    const term = await queue().claim()
    await queue().queue(term, id, { from: 0, to: 2, skipped: 0 }, deliveries(1, 2), DAY_MS)
    await queue().settle(term, id, [tried(1, 1, 'waiting'), tried(2, 1, 'waiting')], RESULT)
    await queue().sweep(term, id, 2, { delivered: 5, failed: 10 })
    const left = await webhooks().deliveries(id, { behind: undefined, state: 'waiting', limit: 5 })
    expect(left.map(one => [one.event, one.answer])).toEqual([
      [2, 'no'],
      [1, undefined],
    ])
  })

  test('gives up only what was tried, and keeps what waits when it sweeps', async () => {
    const id = await endpoint()
    const term = await queue().claim()
    await queue().queue(
      term,
      id,
      { from: 0, to: 30, skipped: 0 },
      deliveries(...Array.from({ length: 30 }, (_, i) => i + 1)),
      0,
    )
    await queue().settle(term, id, [tried(1, 1, 'waiting'), tried(2, 1, 'waiting')], RESULT)
    expect([...(await queue().expire(term, id))].sort()).toEqual([1, 2])
    await queue().settle(
      term,
      id,
      Array.from({ length: 20 }, (_, i) => tried(i + 3, 1, 'delivered')),
      RESULT,
    )
    await queue().sweep(term, id, 2, { delivered: 5, failed: 10 })
    const left = await webhooks().deliveries(id, { behind: undefined, state: undefined, limit: 100 })
    expect(left.filter(one => one.state === 'delivered').map(one => one.event)).toEqual([22, 21, 20, 19, 18])
    expect(left.filter(one => one.state === 'failed').map(one => one.event)).toEqual([2])
    expect(left.filter(one => one.state === 'waiting')).toHaveLength(8)
  })
})

describe('an operator', () => {
  test('sends failed deliveries again, each once, and what waits stays as it is', async () => {
    const id = await endpoint()
    const term = await queue().claim()
    await queue().queue(term, id, { from: 0, to: 3, skipped: 0 }, deliveries(1, 2, 3), DAY_MS)
    await queue().settle(term, id, [tried(1, 4, 'failed'), tried(2, 1, 'delivered')], RESULT)
    const before = (await queue().endpoints()).endpoints.find(one => one.id === id)!.revision
    expect(await webhooks().resend(id, 'failed', 'op', DAY_MS)).toBe(1)
    expect(await webhooks().resend(id, 'failed', 'op', DAY_MS)).toBe(0)
    expect(await webhooks().resend(id, 3, 'op', DAY_MS)).toBe(0)
    expect(await webhooks().resend(id, 2, 'op', DAY_MS)).toBe(1)
    expect((await queue().waiting(id, 10)).map(({ event, tries, triesBefore }) => [event, tries, triesBefore])).toEqual(
      [
        [1, 4, 4],
        [2, 1, 1],
        [3, 0, 0],
      ],
    )
    expect((await queue().endpoints()).endpoints.find(one => one.id === id)!.revision).toBe(before + 2)
  })

  test('rotates secrets: the old ones end in their time, and never more than four are valid', async () => {
    const id = await endpoint()
    const rotate = (no: number, overlapMs: number) => webhooks().rotate(id, `whsec_${no}`, overlapMs, 'op')
    for (let no = 1; no <= 6; no++) expect(await rotate(no, DAY_MS)).toBe(true)
    expect(await rotate(6, DAY_MS)).toBe(true)
    expect(await webhooks().secrets(id)).toEqual(['whsec_6', 'whsec_5', 'whsec_4', 'whsec_3'])
    await rotate(7, 0)
    expect(await webhooks().secrets(id)).toEqual(['whsec_7'])
    expect(await webhooks().rotate('4711', 'whsec_x', 0, 'op')).toBe(false)
    const log = await ledger.sql(`SELECT details::text FROM audit_log WHERE action LIKE 'webhook.%'`)
    expect(JSON.stringify(log)).not.toContain('whsec_')
    expect(JSON.stringify(log)).not.toContain('shop.example')
  })

  test('creates under the same id once, and no more than there may be', async () => {
    const id = await endpoint()
    const again = { id, url: 'https://other.example/', about: '', types: [], cursor: 0, secret: 'whsec_other' }
    expect(await webhooks().create(again, 'op', MANY)).toBe(true)
    expect((await webhooks().list(id))[0]?.url).toBe('https://shop.example/')
    expect(await webhooks().create({ ...again, id: ledger.id() }, 'op', 1)).toBe(false)
    expect(await webhooks().delete(id, 'op')).toBe(true)
    expect(await webhooks().delete(id, 'op')).toBe(false)
    expect(await webhooks().list(id)).toEqual([])
  })
})
