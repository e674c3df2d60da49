/**
 * A server with something to lose: sales in every state, orders of two buyers, one of them paid, and tickets of every kind, good and
 * forged. What it holds can be written down in one text, so that a request that changed anything is found out.
 */

import { createHmac, generateKeyPairSync } from 'node:crypto'
import { createTicketOffice, parseTicketKeys, type TicketClaims } from '../../src/admission/ticket.ts'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import type { Playground } from '../harness/playground.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET, Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

const TICKET_KEYS = 'test:ticket-secret-of-the-tests-only'
const HOUR_MS = 3_600_000

interface SaleHere {
  readonly id: string
  readonly item: string
  readonly other: string
}

export const part = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Signed with HS256, whatever the header says. */
export function jwt(payload: object, header: object = { alg: 'HS256', typ: 'JWT' }, secret = BUYER_JWT_SECRET): string {
  const signed = `${part(header)}.${part(payload)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

export async function setScene(playground: Playground) {
  const server = await Stampede.start(playground, {
    dataDir: playground.dataDir(),
    env: { TICKET_KEYS, GUEST_SIGN_IN: 'on', BUYER_JWT_ISSUER: 'shop', BUYER_JWT_AUDIENCE: 'stampede' },
  })
  const url = server.url()
  const operator = `Bearer ${ADMIN_TOKEN}`
  const claims = { iss: 'shop', aud: 'stampede', exp: Math.floor(systemClock.now() / 1000) + 3600 }
  const buyer = (sub: string) => `Bearer ${jwt({ sub, ...claims })}`

  async function ask(method: string, path: string, authorization: string, body?: unknown) {
    const response = await fetch(url + path, {
      method,
      headers: { authorization },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }

  async function sale(name: string, opensInMs: number, ...moves: string[]): Promise<SaleHere> {
    const price = { amount: 100, currency: 'CNY' }
    const made = await ask('POST', '/api/admin/sales', operator, {
      name,
      opensAt: toRfc3339(systemClock.now() + opensInMs),
      closesAt: toRfc3339(systemClock.now() + opensInMs + HOUR_MS),
      items: [
        { name: 'one', price, units: 10, quantityMax: 2 },
        { name: 'two', price, units: 10 },
      ],
    })
    for (const move of moves) await ask('POST', `/api/admin/sales/${made.id}/${move}`, operator)
    return { id: made.id, item: made.items[0].id, other: made.items[1].id }
  }

  const open = await sale('open', -1000, 'publish')
  const second = await sale('second', -1000, 'publish')
  const paused = await sale('paused', -1000, 'publish', 'pause')
  const later = await sale('later', 10 * HOUR_MS, 'publish')
  const over = await sale('over', -1000, 'publish', 'end')
  const draft = await sale('draft', -1000)

  const ticketFor = async (who: string, { id, item }: SaleHere): Promise<string> =>
    (await ask('POST', `/api/sales/${id}/items/${item}/ticket`, buyer(who))).ticket
  const orderOf = async (who: string): Promise<string> =>
    (await ask('POST', `/api/sales/${open.id}/items/${open.item}/orders`, `Bearer ${await ticketFor(who, open)}`)).id
  const adas = await orderOf('ada')
  const bobs = await orderOf('bob')
  const { payUrl } = await ask('POST', `/api/orders/${bobs}/payment`, buyer('bob'))
  await ask('POST', `${new URL(payUrl).pathname}/approve`, '')
  await until('bob has paid', async () => (await ask('GET', `/api/orders/${bobs}`, buyer('bob'))).state === 'paid')

  const office = createTicketOffice(parseTicketKeys(TICKET_KEYS))
  const nowMs = systemClock.now()
  const good: TicketClaims = {
    sale: open.id,
    item: open.item,
    buyer: 'eve',
    attempt: 1,
    notBeforeMs: nowMs - 1000,
    expiresAtMs: nowMs + HOUR_MS,
  }
  return {
    server,
    url,
    operator,
    buyer,
    claims,
    open,
    second,
    paused,
    later,
    over,
    draft,
    adas,
    bobs,
    /** Good in every way: eve could order with it. */
    ticket: office.issue(good),
    signed: (change: Partial<TicketClaims>) => office.issue({ ...good, ...change }),
    forged: createTicketOffice(parseTicketKeys('test:another-secret-that-is-not-it')).issue(good),
    unknownKey: createTicketOffice(parseTicketKeys('other:ticket-secret-of-the-tests-only')).issue(good),
    publicKey: generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'pem' }),

    /** Everything an outsider could have changed. */
    async state(): Promise<string> {
      const sales = [open, second, paused, later, over, draft]
      const pages = ['/api/admin/sales', '/api/admin/log?limit=1000']
      for (const { id } of sales) pages.push(`/api/admin/sales/${id}/audit`, `/api/admin/sales/${id}/orders`)
      pages.push(`/api/admin/orders/${adas}`, `/api/admin/orders/${bobs}`)
      const answers = await Promise.all(pages.map(page => ask('GET', page, operator)))
      return JSON.stringify(answers, undefined, 1)
    },
  }
}

export type Scene = Awaited<ReturnType<typeof setScene>>
