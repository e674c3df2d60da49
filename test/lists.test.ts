/** The access list on one server: what operators may write, claims of the shop's token, and who is let in past limits and challenges. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SignJWT } from 'jose'
import { systemClock, toRfc3339 } from '../src/base/clock.ts'
import { Till } from './harness/money.ts'
import { Playground } from './harness/playground.ts'
import { Site } from './harness/site.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET } from './harness/stampede.ts'

const playground = new Playground()
let site: Site
let till: Till
let path: string
let plain: string
beforeAll(async () => {
  site = await Site.start(playground, {
    dataDir: playground.dataDir(),
    env: { RATE_PER_BUYER: '2/1h', ABUSE_CLAIMS: 'phone' },
  })
  till = new Till(() => site.url())
  const opensAtMs = systemClock.now() - 1_000
  const publish = async (challenge: string) => {
    const sale = (await till.operator('POST', '/sales', {
      name: 'Friday',
      opensAt: toRfc3339(opensAtMs),
      closesAt: toRfc3339(opensAtMs + 3_600_000),
      challenge,
      items: [{ name: 'Kettle', price: { amount: 100, currency: 'CNY' }, units: 5 }],
    })) as unknown as { id: string; items: { id: string }[] }
    await till.operator('POST', `/sales/${sale.id}/publish`)
    return `/api/sales/${sale.id}/items/${sale.items[0]!.id}`
  }
  path = await publish('auto')
  plain = await publish('off')
})
afterAll(() => playground.undo())

async function fetchTicket(on: string, buyer: string, claims: Record<string, unknown>) {
  const secret = new TextEncoder().encode(BUYER_JWT_SECRET)
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(buyer)
    .setExpirationTime('1h')
    .sign(secret)
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${site.url()}${on}/ticket`, { method: 'POST', headers })
  return { status: answer.status, ...((await answer.json()) as { code?: string; ticket?: string }) }
}

async function ticket(buyer: string, claims: Record<string, unknown> = {}) {
  const { code, status } = await fetchTicket(path, buyer, claims)
  return code ?? status
}

/** With no more than the ticket, as a program orders. */
async function order(ticket: string | undefined) {
  const headers = { authorization: `Bearer ${ticket}` }
  const answer = await fetch(`${site.url()}${plain}/orders`, { method: 'POST', headers })
  const { code } = (await answer.json()) as { code?: string }
  return code ?? answer.status
}

async function lists(method: string, at = '', body?: unknown) {
  const answer = await fetch(`${site.url()}/api/admin/lists${at}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
}

test('a claim of the token denies, another lets in past challenge and limits; both are in force with the answer', async () => {
  expect(await ticket('ann', { phone: 'none' })).toBe('challenge_required')
  await lists('POST', '', { kind: 'deny', subject: 'claim', value: 'phone=none' })
  expect(await ticket('ann', { phone: 'none' })).toBe('denied')
  expect(await ticket('ben', { phone: '123' })).toBe('challenge_required')
  await lists('POST', '', { kind: 'allow', subject: 'claim', value: 'staff=true' })
  for (let n = 0; n < 5; n++) expect(await ticket('cleo', { staff: true })).toBe(201)
  expect(await ticket('dan', { staff: true, phone: 'none' })).toBe('denied')
  for (let n = 0; n < 2; n++) expect(await ticket('eve')).toBe('challenge_required')
  expect(await ticket('eve')).toBe('rate_limited')
})

test('a denied claim also refuses the order of a ticket that was given before, and an order that is held stays', async () => {
  const [gil, hal, ida] = await Promise.all(
    ['gil', 'hal', 'ida'].map((buyer, n) => fetchTicket(plain, buyer, { phone: `55${n}` })),
  )
  expect(await order(hal!.ticket)).toBe(201)
  for (const value of ['phone=550', 'phone=551']) await lists('POST', '', { kind: 'deny', subject: 'claim', value })
  expect(await order(gil!.ticket)).toBe('denied')
  expect(await order(hal!.ticket)).toBe(200)
  expect(await order(ida!.ticket)).toBe(201)
})

test('the same again changes end and reason; what ended is gone; wrong values are named', async () => {
  const entry = { kind: 'deny', subject: 'prefix', value: '203.0.113.0/24' }
  const first = await lists('POST', '', { ...entry, reason: 'bots' })
  expect(first).toMatchObject({ status: 201, body: { ...entry, reason: 'bots', by: 'admin' } })
  const until = toRfc3339(systemClock.now() + 3_600_000)
  expect(await lists('POST', '', { ...entry, until })).toMatchObject({
    status: 201,
    body: { id: first.body.id, until },
  })
  await lists('POST', '', {
    kind: 'deny',
    subject: 'buyer',
    value: 'late',
    until: toRfc3339(systemClock.now() - 1_000),
  })
  const shown = (await lists('GET')).body.lists as { value: string }[]
  expect(shown.filter(({ value }) => value === entry.value)).toHaveLength(1)
  expect(shown.some(({ value }) => value === 'late')).toBe(false)
  for (const body of [
    { ...entry, value: '203.0.113.0/40' },
    { ...entry, subject: 'address' },
    { ...entry, kind: 'ban' },
    { ...entry, subject: 'claim', value: 'phone' },
  ]) {
    const refused = await lists('POST', '', body)
    expect(refused).toMatchObject({ status: 400, body: { code: 'body_invalid' } })
  }
  expect((await lists('DELETE', `/${first.body.id}`)).status).toBe(204)
  expect((await lists('DELETE', `/${first.body.id}`)).status).toBe(404)
})
