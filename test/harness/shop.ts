/**
 * The shop, as the tests play it: its operator and its buyers, over HTTP, exactly as API.md has it. Every answer to an order is
 * remembered as `Told`, lost ones too. An answer that API.md does not know is an error at once.
 */

import { SignJWT } from 'jose'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import type { Told, ToldOrder } from '../../src/domain/promises/snapshot.ts'
import type {
  AuditAnswer,
  OperatorSaleAnswer,
  OrderAnswer,
  OrdersAnswer,
  TicketAnswer,
} from '../../src/wire/answers.ts'
import type { SaleInput } from '../../src/wire/inputs.ts'
import { assertDescribed } from './described.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET } from './stampede.ts'

export type { AuditAnswer as WireAudit, OrderAnswer as WireOrder } from '../../src/wire/answers.ts'

type NewItem = Pick<SaleInput['items'][number], 'units'> & Partial<SaleInput['items'][number]>

export interface ShopSale {
  readonly id: string
  readonly opensAtMs: number
  readonly items: readonly { readonly id: string; readonly units: number }[]
}

export interface Ticket {
  readonly buyer: string
  readonly sale: string
  readonly item: string
  readonly attempt: number
  readonly text: string
}

type Answer = Told['answer']

/** Longer than any answer may take: an ask that hits it shows up as a broken bound, not as a test that hangs. */
const ANSWER_MS_MAX = 40_000
const TICKET_MS_MAX = 60_000
const TICKET_AGAIN_MS = 50
const PRICE = { amount: 199_900, currency: 'CNY' }

export class Shop {
  readonly told: Told[] = []
  /** The epoch each item had when its sale was published. */
  readonly firstEpochs = new Map<string, number>()
  readonly #url: () => string
  readonly #waiting: { readonly placed: number; readonly reached: () => void }[] = []
  /** Who has heard of an order, and for which attempt at which item. */
  readonly #holders = new Set<string>()
  readonly #secret = new TextEncoder().encode(BUYER_JWT_SECRET)

  /** The address may change while the test runs: a server that is started again has another port. */
  constructor(url: () => string) {
    this.#url = url
  }

  /** A published sale that opens in `opensInMs` (negative: already open) and is warm. */
  async openSale(opensInMs: number, items: readonly NewItem[]): Promise<ShopSale> {
    const opensAtMs = systemClock.now() + opensInMs
    const sale = (await this.#operator('POST', '/sales', {
      name: 'storm',
      opensAt: toRfc3339(opensAtMs),
      closesAt: toRfc3339(opensAtMs + 3_600_000),
      items: items.map((item, i) => ({ name: `item ${i}`, price: PRICE, ...item })),
    })) as OperatorSaleAnswer
    await this.#operator('POST', `/sales/${sale.id}/publish`)
    for (const line of await this.audit(sale.id)) this.firstEpochs.set(line.item, line.epoch)
    return { id: sale.id, opensAtMs, items: sale.items }
  }

  async audit(sale: string): Promise<readonly AuditAnswer[]> {
    return ((await this.#operator('GET', `/sales/${sale}/audit`)) as { items: AuditAnswer[] }).items
  }

  /** All orders of a sale, page by page. */
  async orders(sale: string): Promise<readonly OrderAnswer[]> {
    const orders: OrderAnswer[] = []
    for (let after = ''; ; ) {
      const page = (await this.#operator('GET', `/sales/${sale}/orders?limit=500${after}`)) as OrdersAnswer
      orders.push(...page.orders)
      if (page.next === null) return orders
      after = `&after=${page.next}`
    }
  }

  /** The operator's decision about an item whose door was shut. */
  async openLedgerDoor(sale: string, item: string): Promise<void> {
    await this.#operator('POST', `/sales/${sale}/items/${item}/door`, { door: 'ledger' })
  }

  /** The operator's cancel. */
  async cancel(order: string): Promise<void> {
    await this.#operator('POST', `/orders/${order}/cancel`)
  }

  buyerToken(buyer: string): Promise<string> {
    const token = new SignJWT({ sub: buyer }).setProtectedHeader({ alg: 'HS256' })
    return token.setExpirationTime('6h').sign(this.#secret)
  }

  async ticket(buyer: string, sale: string, item: string): Promise<Ticket> {
    const token = await this.buyerToken(buyer)
    const untilMs = systemClock.elapsed() + TICKET_MS_MAX
    for (;;) {
      const response = await fetch(`${this.#url()}/api/sales/${sale}/items/${item}/ticket`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      })
      const text = await response.text()
      assertDescribed('POST', new URL(response.url).pathname, response.status, response.headers, text)
      if (response.status === 201) {
        const { ticket, attempt } = JSON.parse(text) as TicketAnswer
        return { buyer, sale, item, attempt, text: ticket }
      }
      // An item that is being warmed, or rebuilt: asking again is what any client does.
      if (response.status !== 503 || systemClock.elapsed() > untilMs)
        throw new Error(`a ticket was refused: ${response.status} ${text}`)
      await systemClock.sleep(TICKET_AGAIN_MS)
    }
  }

  /** One ask. Never rejects for a lost connection: that is an answer too, `unknown`. */
  async order(ticket: Ticket, quantity: number, hangUp?: AbortSignal): Promise<Told> {
    const limit = AbortSignal.timeout(ANSWER_MS_MAX)
    const askedAtMs = systemClock.elapsed()
    const path = `/api/sales/${ticket.sale}/items/${ticket.item}/orders`
    let reply: { status: number; headers: Headers; text: string } | undefined
    try {
      const response = await fetch(`${this.#url()}/api/sales/${ticket.sale}/items/${ticket.item}/orders`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ticket.text}`, 'content-type': 'application/json' },
        ...(quantity === 1 ? {} : { body: JSON.stringify({ quantity }) }),
        signal: hangUp === undefined ? limit : AbortSignal.any([limit, hangUp]),
      })
      reply = { status: response.status, headers: response.headers, text: await response.text() }
    } catch {
      reply = undefined
    }
    if (reply !== undefined) assertDescribed('POST', path, reply.status, reply.headers, reply.text)
    const { buyer, item, attempt } = ticket
    const answer: Answer = reply === undefined ? { kind: 'unknown' } : toAnswer(reply.status, reply.text)
    const told: Told = { buyer, item, attempt, quantity, askedAtMs, answeredAtMs: systemClock.elapsed(), answer }
    this.told.push(told)
    if ('order' in answer) {
      this.#holders.add(`${item} ${attempt} ${buyer}`)
      for (const { placed, reached } of this.#waiting) if (placed <= this.#holders.size) reached()
    }
    return told
  }

  /**
   * Resolves in the very moment when that many buyers have heard of an order of theirs for the first time: placed, reserved, or the same
   * that stood already because the first answer was lost.
   */
  placed(share: number): Promise<void> {
    const count = Math.ceil(share)
    return new Promise(reached => {
      if (this.#holders.size >= count) reached()
      else this.#waiting.push({ placed: count, reached })
    })
  }

  placedSoFar(): number {
    return this.#holders.size
  }

  async #operator(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${this.#url()}/api/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    const text = await response.text()
    assertDescribed(method, new URL(response.url).pathname, response.status, response.headers, text)
    if (!response.ok) throw new Error(`${method} ${path} was refused: ${response.status} ${text}`)
    return JSON.parse(text)
  }
}

const KINDS: Readonly<
  Record<string, Exclude<Answer['kind'], 'placed' | 'reserved' | 'same' | 'not_enough' | 'unknown'>>
> = {
  '409 sold_out': 'sold_out',
  '409 sale_not_open': 'early',
  '409 sale_paused': 'paused',
  '409 attempts_used': 'attempts_used',
  '410 sale_over': 'over',
  '429 rate_limited': 'rate_limited',
  '503 busy': 'busy',
}
const PLACED = 201
const RESERVED = 202
const SAME = 200

function toAnswer(status: number, text: string): Answer {
  const body = JSON.parse(text)
  if (status === PLACED) return { kind: 'placed', order: toToldOrder(body) }
  if (status === RESERVED) return { kind: 'reserved', order: toToldOrder(body) }
  if (status === SAME) return { kind: 'same', order: toToldOrder(body) }
  const code = `${status} ${body.code}`
  if (code === '409 not_enough') return { kind: 'not_enough', left: body.left }
  const kind = KINDS[code]
  if (kind === undefined) throw new Error(`an order was answered with something unexpected: ${status} ${text}`)
  return { kind }
}

function toToldOrder({ id, attempt, quantity, state }: OrderAnswer): ToldOrder {
  return { id, attempt, quantity, state }
}
