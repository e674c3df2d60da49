/**
 * A buyer with the manners of the page (`web/buyer/buy/buying.ts`) and no browser: presses once, and asks again with the same ticket, with the
 * page's own pauses, until the shop has said what became of it. What a person would see of it that is neither an order nor "sold out"
 * is written down. Each has an address of its own, which only the site of the tests believes.
 */

import { SignJWT } from 'jose'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { Told } from '../../src/domain/promises/snapshot.ts'
import { backOffMs } from '../../web/buyer/sync/moments.ts'
import { assertDescribed } from '../harness/described.ts'
import type { ShopSale } from '../harness/shop.ts'
import { BUYER_JWT_SECRET } from '../harness/stampede.ts'

const ANSWER_MS_MAX = 10_000
const PATIENCE_MS = 150_000

interface Heard {
  /** 0: nothing came. */
  readonly status: number
  readonly code: string
  readonly retryAfterMs: number
  readonly body: Readonly<Record<string, unknown>>
}

interface Visit {
  readonly buyer: string
  readonly address: string
}

interface Outcome {
  /** Undefined: sold out. */
  readonly order: string | undefined
  /** How often the order was asked for. */
  readonly asks: number
  /** What a person would have seen and could not understand. */
  readonly seen: readonly string[]
}

export function tokenOf(buyer: string): Promise<string> {
  const key = new TextEncoder().encode(BUYER_JWT_SECRET)
  return new SignJWT({ sub: buyer }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(key)
}

/** Every answer to an order goes into `told`, lost ones too. */
export async function buyLikeThePage(url: string, sale: ShopSale, visit: Visit, told: Told[]): Promise<Outcome> {
  const item = sale.items[0]?.id ?? ''
  const path = `/api/sales/${sale.id}/items/${item}`
  const token = await tokenOf(visit.buyer)
  const untilMs = systemClock.elapsed() + PATIENCE_MS
  let ticket: { readonly text: string; readonly attempt: number } | undefined
  let asks = 0
  for (let tries = 0; systemClock.elapsed() < untilMs; ) {
    const askedAtMs = systemClock.elapsed()
    const heard = await post(
      url,
      ticket === undefined ? `${path}/ticket` : `${path}/orders`,
      visit,
      ticket?.text ?? token,
    )
    if (ticket === undefined && heard.status === 201) {
      ticket = { text: String(heard.body.ticket), attempt: Number(heard.body.attempt) }
      continue
    }
    if (ticket !== undefined) {
      asks += 1
      const { buyer } = visit
      const asked = {
        buyer,
        item,
        attempt: ticket.attempt,
        quantity: 1,
        askedAtMs,
        answeredAtMs: systemClock.elapsed(),
      }
      told.push({ ...asked, answer: toAnswer(heard) })
      if (heard.status >= 200 && heard.status < 300) return { order: String(heard.body.id), asks, seen: [] }
      if (heard.code === 'sold_out') return { order: undefined, asks, seen: [] }
    }
    // As the page: what says nothing about the ask is asked again; a limit only ends an ask that was never sent before.
    const again = heard.status === 0 || heard.status >= 500 || (heard.code === 'rate_limited' && tries > 0)
    if (!again) return { order: undefined, asks, seen: [`${heard.status} ${heard.code}`] }
    const chance = systemRandom.next()
    await systemClock.sleep(Math.max(heard.retryAfterMs * (1 + chance / 2), backOffMs(tries, chance)))
    tries += 1
  }
  return { order: undefined, asks, seen: [`nothing for ${PATIENCE_MS} ms`] }
}

async function post(url: string, path: string, { address }: Visit, bearer: string): Promise<Heard> {
  let response: Response
  let text: string
  try {
    response = await fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'x-test-address': address },
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    text = await response.text()
  } catch {
    return { status: 0, code: 'lost', retryAfterMs: 0, body: {} }
  }
  // Also what nginx says itself must be a word of the API.
  assertDescribed('POST', path, response.status, response.headers, text)
  const body = JSON.parse(text) as Record<string, unknown>
  const retryAfterMs = Number(response.headers.get('retry-after') ?? 0) * 1000
  return { status: response.status, code: String(body.code ?? ''), retryAfterMs, body }
}

const KINDS = { 200: 'same', 201: 'placed', 202: 'reserved' } as const
const REFUSALS = ['sold_out', 'busy', 'rate_limited', 'early', 'paused', 'over'] as const

function toAnswer({ status, code, body }: Heard): Told['answer'] {
  const kind = KINDS[status as keyof typeof KINDS]
  if (kind !== undefined) {
    const { id, attempt, quantity, state } = body as { id: string; attempt: number; quantity: number; state: 'pending' }
    return { kind, order: { id, attempt, quantity, state } }
  }
  const refused = REFUSALS.find(one => one === code)
  return { kind: refused ?? (status === 0 ? 'unknown' : 'invalid') }
}
