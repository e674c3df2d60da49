/**
 * Lets made-up requests loose on a real server for a while. Every answer must be as the description says; the only 5xx is "busy".
 * Afterwards the books must agree: whatever was asked, no promise is broken.
 */

import fc from 'fast-check'
import { SignJWT } from 'jose'
import { systemClock } from '../../src/base/clock.ts'
import type { OpenApi } from '../../src/edge/docs/openapi.ts'
import { assertDescribed } from '../harness/described.ts'
import type { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET, Stampede } from '../harness/stampede.ts'
import { type Known, type MadeRequest, requestsOf } from './requests.ts'

const AT_ONCE = 8
const HANDFULS = 30
const KNOWN_MAX = 60

export async function fuzz(playground: Playground, forMs: number, seed: number): Promise<string> {
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env: { GUEST_SIGN_IN: 'on' } })
  const shop = new Shop(() => server.url())
  const secret = new TextEncoder().encode(BUYER_JWT_SECRET)
  const known: Known = {
    ids: [],
    items: [],
    orders: [],
    buyers: await Promise.all(
      ['ada', 'bob', 'carol', 'dan'].map(
        async sub =>
          `Bearer ${await new SignJWT({ sub }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(secret)}`,
      ),
    ),
    operator: `Bearer ${ADMIN_TOKEN}`,
    tokens: [],
  }
  const document = (await (await fetch(`${server.url()}/openapi.json`)).json()) as OpenApi
  const statuses = new Map<string, number>()
  const until = systemClock.elapsed() + forMs
  let sent = 0

  async function tryOne(request: MadeRequest): Promise<void> {
    const response = await fetch(server.url() + request.path, {
      method: request.method,
      headers: request.headers,
      redirect: 'manual',
      ...(request.body === undefined ? {} : { body: request.body }),
    })
    const text = await response.text()
    sent += 1
    statuses.set(String(response.status), (statuses.get(String(response.status)) ?? 0) + 1)
    try {
      const path = new URL(server.url() + request.path).pathname
      assertDescribed(request.method, path, response.status, response.headers, text)
      if (response.status >= 500 && response.status !== 503) throw new Error(`answered ${response.status}`)
    } catch (error) {
      throw new Error(`seed ${seed}: ${JSON.stringify(request)}\n${String(error)}`)
    }
    learn(request.path, text)
  }

  function learn(path: string, text: string): void {
    const keep = (list: string[], value: string) => {
      if (!list.includes(value)) list.unshift(value)
      if (list.length > KNOWN_MAX) list.pop()
    }
    for (const [, id = ''] of text.matchAll(/"(?:id|sale|item)":"([0-9]+)"/g)) keep(known.ids, id)
    for (const [, id = ''] of text.matchAll(/"id":"([0-9]+)","sale"/g)) keep(known.orders, id)
    for (const [, token = ''] of text.matchAll(/\/sandbox\/pay\/([^"]+)"/g)) keep(known.tokens, token)
    const ticket = /^\{"ticket":"([^"]+)"/.exec(text)?.[1]
    const there = known.items.find(one => path.includes(`/${one.sale}/items/${one.item}/`))
    if (ticket !== undefined && there !== undefined) keep(there.tickets, `Bearer ${ticket}`)
  }

  for (let round = 0; systemClock.elapsed() < until; round++) {
    // Fuzzing ends sales as easily as it orders: each round has one that is open, and what an earlier one is left with.
    const sale = await shop.openSale(-1000, [{ units: 20, quantityMax: 3, attemptsMax: 5 }])
    known.items.unshift({ sale: sale.id, item: sale.items[0]?.id ?? '', tickets: [] })
    known.items.splice(2)
    // A handful at a time, so that what was just learnt is used.
    for (let i = 0; i < HANDFULS && systemClock.elapsed() < until; i++) {
      const handful = fc.sample(requestsOf(document, known), { numRuns: AT_ONCE, seed: seed + round * HANDFULS + i })
      await Promise.all(handful.map(tryOne))
    }
  }

  const sales = (await (
    await fetch(`${server.url()}/api/admin/sales`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
  ).json()) as { sales: { id: string; state: string }[] }
  for (const { id } of sales.sales.slice(0, 50)) {
    const amiss = (await shop.audit(id)).filter(line => !line.consistent)
    if (amiss.length > 0) throw new Error(`seed ${seed}: the books do not agree: ${JSON.stringify(amiss)}`)
  }
  if (server.output().includes('unexpected error')) throw new Error(`seed ${seed}: ${server.output()}`)
  const told = [...statuses].sort().map(([status, count]) => `${status} × ${count}`)
  return `seed ${seed}: ${sent} requests (${told.join(', ')})`
}
