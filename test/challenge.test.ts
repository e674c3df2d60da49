/** A proof of work before the ticket, over HTTP: what passes, what is refused, and what is counted. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Challenge, solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import { systemClock, toRfc3339 } from '../src/base/clock.ts'
import { gauge } from './harness/gauges.ts'
import { Till } from './harness/money.ts'
import { Playground } from './harness/playground.ts'
import { Site } from './harness/site.ts'
import { until } from './harness/until.ts'

const playground = new Playground()
let site: Site
let till: Till
beforeAll(async () => {
  site = await Site.start(playground, {
    dataDir: playground.dataDir(),
    env: { BUYER_JWT_SECRET: '', GUEST_SIGN_IN: 'on', RATE_PER_BUYER: 'off', RATE_PER_ADDRESS: 'off' },
  })
  till = new Till(() => site.url())
})
afterAll(() => playground.undo())

async function openSale(more: Readonly<Record<string, unknown>> = {}, opensInMs = -1_000) {
  const opensAtMs = systemClock.now() + opensInMs
  const item = { name: 'Kettle', price: { amount: 100, currency: 'CNY' }, units: 5 }
  const sale = (await till.operator('POST', '/sales', {
    name: 'Friday',
    opensAt: toRfc3339(opensAtMs),
    closesAt: toRfc3339(opensAtMs + 3_600_000),
    items: [item],
    ...more,
  })) as unknown as { id: string; items: { id: string }[] }
  await till.operator('POST', `/sales/${sale.id}/publish`)
  return { id: sale.id, item: sale.items[0]!.id, path: `/api/sales/${sale.id}/items/${sale.items[0]!.id}` }
}

async function signIn(buyer: string): Promise<string> {
  const answer = await fetch(`${site.url()}/api/session`, { method: 'POST', body: JSON.stringify({ buyer }) })
  return ((await answer.json()) as { token: string }).token
}

async function post(path: string, token: string, body: unknown = {}) {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(site.url() + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> & { code?: string } }
}

async function solve(challenge: unknown) {
  return { challenge, solution: await solveChallenge({ challenge: challenge as Challenge, deriveKey }) }
}

const counted = (outcome: string) => gauge(site, `stampede_challenges_total{outcome="${outcome}"}`)

test('a ticket is given for a solved challenge, the same one again for the same solution, and an order for the ticket', async () => {
  const sale = await openSale({ challenge: 'auto' })
  const ann = await signIn('ann')
  const asked = await post(`${sale.path}/ticket`, ann)
  expect(asked).toMatchObject({ status: 403, body: { code: 'challenge_required' } })
  const solved = await solve(asked.body.challenge)
  const first = await post(`${sale.path}/ticket`, ann, { challenge: solved })
  expect(first.status).toBe(201)
  const again = await post(`${sale.path}/ticket`, ann, { challenge: solved })
  expect(again).toEqual(first)
  expect((await post(`${sale.path}/orders`, String(first.body.ticket))).status).toBe(201)
  // A buyer with a live order is never asked, and gets that order's ticket.
  expect(await post(`${sale.path}/ticket`, ann)).toMatchObject({ status: 201, body: { attempt: 1 } })
})

test('without a solved challenge there is no ticket: for others, for another item, later, changed, or made up', async () => {
  const sale = await openSale({ challenge: 1 })
  const other = await openSale({ challenge: 1 })
  const [ann, bob] = [await signIn('ann'), await signIn('bob')]
  const asked = await post(`${sale.path}/ticket`, ann)
  const solved = await solve(asked.body.challenge)
  const before = { foreign: await counted('foreign'), malformed: await counted('malformed') }
  const tickets: [string, string, unknown, string][] = [
    [sale.path, bob, solved, 'another'],
    [other.path, ann, solved, 'another'],
    [sale.path, ann, { ...solved, solution: { counter: 1, derivedKey: '00'.repeat(32) } }, 'does not solve'],
    [sale.path, ann, 'please', 'solver'],
    [sale.path, ann, null, 'solver'],
  ]
  for (const [path, token, challenge, detail] of tickets) {
    const refused = await post(`${path}/ticket`, token, { challenge })
    expect(refused).toMatchObject({ status: 403, body: { code: 'challenge_invalid' } })
    expect(refused.body.detail).toInclude(detail)
  }
  expect(await counted('foreign')).toBe(before.foreign + 2)
  expect(await counted('malformed')).toBe(before.malformed + 2)
  expect((await post(`${sale.path}/ticket`, ann, { challenge: solved })).status).toBe(201)
})

test('after a closed order the next attempt needs a challenge of its own, and a harder one', async () => {
  const sale = await openSale({ challenge: 'auto' })
  const ann = await signIn('ann')
  const asked = await post(`${sale.path}/ticket`, ann)
  const solved = await solve(asked.body.challenge)
  const { body } = await post(`${sale.path}/ticket`, ann, { challenge: solved })
  const order = await post(`${sale.path}/orders`, String(body.ticket))
  await post(`/api/orders/${order.body.id}/cancel`, ann)
  expect(await post(`${sale.path}/ticket`, ann, { challenge: solved })).toMatchObject({
    status: 403,
    body: { code: 'challenge_invalid' },
  })
  const next = await post(`${sale.path}/ticket`, ann)
  const costOf = (answer: typeof next) => (answer.body.challenge as Challenge).parameters.cost
  expect(costOf(next)).toBe(2 * costOf(asked))
})

test('tickets are given out from the moment that the sale says, and a sale without a challenge asks for none', async () => {
  const early = await openSale({ ticketsBeforeSeconds: 60 }, 600_000)
  const ann = await signIn('ann')
  expect(await post(`${early.path}/ticket`, ann)).toMatchObject({ status: 409, body: { code: 'sale_not_open' } })
  await till.operator('PATCH', `/sales/${early.id}`, { ticketsBeforeSeconds: 900 })
  expect((await post(`${early.path}/ticket`, ann)).status).toBe(201)
  const shown = (await (await fetch(`${site.url()}/api/sales/${early.id}`)).json()) as Record<string, unknown>
  expect(shown).toMatchObject({ ticketsBeforeSeconds: 900, challenge: 'off' })
  await till.operator('PATCH', `/sales/${early.id}`, { challenge: 3 })
  expect((await post(`${early.path}/ticket`, ann)).body.code).toBe('challenge_required')
  await till.operator('PATCH', `/sales/${early.id}`, { challenge: 'off' })
  expect((await post(`${early.path}/ticket`, ann)).status).toBe(201)
})

test('a line asks for it before joining, and not before the ticket; a solution is worth one join, and what is refused is counted', async () => {
  const opensAt = toRfc3339(systemClock.now() - 1_000)
  const sale = await openSale({ challenge: 1, line: { opensAt, order: 'arrival', claimWithinSeconds: 2 } })
  const line = `/api/sales/${sale.id}/line`
  const ann = await signIn('ann')
  const asked = await post(line, ann)
  expect(asked).toMatchObject({ status: 403, body: { code: 'challenge_required' } })
  const solved = await solve(asked.body.challenge)
  const refused = () => gauge(site, 'stampede_refusals_total{reason="challenge_invalid"}')
  const before = await refused()
  expect((await post(line, await signIn('bob'), { challenge: solved })).body.code).toBe('challenge_invalid')
  expect((await post(`${sale.path}/ticket`, ann, { challenge: solved })).body.code).toBe('not_admitted')
  expect(await post(line, ann, { challenge: solved })).toMatchObject({ status: 201, body: { number: 1 } })
  const isIn = (state: string) => until(`ann is ${state}`, async () => (await own()).state === state)
  const own = async () =>
    (await (await fetch(site.url() + line, { headers: { authorization: `Bearer ${ann}` } })).json()) as {
      state?: string
    }
  await isIn('admitted')
  expect((await post(`${sale.path}/ticket`, ann)).status).toBe(201)
  await isIn('missed')
  // Another place, another price.
  expect((await post(line, ann, { challenge: solved })).body.code).toBe('challenge_invalid')
  expect(await refused()).toBe(before + 2)
  const again = await solve((await post(line, ann)).body.challenge)
  expect(await post(line, ann, { challenge: again })).toMatchObject({ status: 200, body: { number: 2 } })
})
