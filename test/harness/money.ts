/**
 * Money and time as the tests play them, over HTTP as API.md has it: buyers who pay, cancel and change their mind, the sandbox's pay
 * page, and an operator who changes a running sale. An answer that nobody expected is an error at once.
 */

import { createHmac } from 'node:crypto'
import { systemClock } from '../../src/base/clock.ts'
import type { OrderAnswer, ReportAnswer, StockChangeAnswer, WholeOrderAnswer } from '../../src/wire/answers.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET } from './stampede.ts'

export type {
  ReportAnswer as Report,
  StockChangeAnswer as Change,
  WholeOrderAnswer as WholeOrder,
} from '../../src/wire/answers.ts'

/** Longer than any answer may take. */
const ANSWER_MS_MAX = 60_000

export interface Reply {
  readonly status: number
  /** A problem's code; empty when there is none. */
  readonly code: string
  readonly body: Readonly<Record<string, unknown>>
}

export class Till {
  readonly #url: () => string

  constructor(url: () => string) {
    this.#url = url
  }

  /** Starts, or continues, the payment of an order. */
  pay(order: OrderAnswer): Promise<Reply> {
    return this.#ask('POST', `${this.#url()}/api/orders/${order.id}/payment`, buyerToken(order.buyer))
  }

  /** With a provider or a method. */
  payBy(order: OrderAnswer, wish: object): Promise<Reply> {
    return this.#ask('POST', `${this.#url()}/api/orders/${order.id}/payment`, buyerToken(order.buyer), wish)
  }

  /** The order as its buyer sees it, or what the buyer is told instead. */
  async own(order: OrderAnswer, query = ''): Promise<Reply['body']> {
    return (await this.#ask('GET', `${this.#url()}/api/orders/${order.id}${query}`, buyerToken(order.buyer))).body
  }

  async ownOrders({ buyer }: OrderAnswer): Promise<readonly OrderAnswer[]> {
    const { body } = await this.#ask('GET', `${this.#url()}/api/orders`, buyerToken(buyer))
    return body.orders as readonly OrderAnswer[]
  }

  /** An operator's call, whatever becomes of it. */
  admin(method: string, path: string, body: unknown): Promise<Reply> {
    return this.#ask(method, `${this.#url()}/api/admin${path}`, ADMIN_TOKEN, body)
  }

  cancel(order: OrderAnswer): Promise<Reply> {
    return this.#ask('POST', `${this.#url()}/api/orders/${order.id}/cancel`, buyerToken(order.buyer))
  }

  /** The pay page's own address may be an older server's: only its path counts. */
  decide(payUrl: string, what: string): Promise<Reply> {
    return this.#ask('POST', `${this.#url()}${new URL(payUrl).pathname}/${what}`, '')
  }

  async order(id: string): Promise<WholeOrderAnswer> {
    return (await this.operator('GET', `/orders/${id}`)) as unknown as WholeOrderAnswer
  }

  refund(id: string, restock: boolean): Promise<Reply> {
    return this.#ask('POST', `${this.#url()}/api/admin/orders/${id}/refund`, ADMIN_TOKEN, { restock })
  }

  /** A part of an order's money. */
  refundPart(id: string, amount: number, key: string, more: Readonly<Record<string, unknown>> = {}): Promise<Reply> {
    const body = { amount: { amount, currency: 'CNY' }, ...more }
    return this.#ask('POST', `${this.#url()}/api/admin/orders/${id}/refund`, ADMIN_TOKEN, body, {
      'idempotency-key': key,
    })
  }

  async stock(sale: string, item: string, delta: number, key: string): Promise<StockChangeAnswer> {
    const path = `/sales/${sale}/items/${item}/stock`
    return (await this.operator(
      'POST',
      path,
      { delta, reason: 'test' },
      { 'idempotency-key': key },
    )) as unknown as StockChangeAnswer
  }

  async move(sale: string, what: 'pause' | 'resume' | 'end' | 'warm'): Promise<void> {
    await this.operator('POST', `/sales/${sale}/${what}`)
  }

  async reconcile(sale: string): Promise<ReportAnswer> {
    return (await this.operator('POST', `/sales/${sale}/reconcile`)) as unknown as ReportAnswer
  }

  async csv(path: string): Promise<string> {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, accept: 'text/csv' }
    const response = await fetch(`${this.#url()}/api/admin${path}`, { headers })
    if (!response.ok) throw new Error(`GET ${path} was refused: ${await response.text()}`)
    return response.text()
  }

  async operator(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply['body']> {
    const reply = await this.#ask(method, `${this.#url()}/api/admin${path}`, ADMIN_TOKEN, body, headers)
    if (reply.status >= 300) throw new Error(`${method} ${path} was refused: ${JSON.stringify(reply)}`)
    return reply.body
  }

  async #ask(
    method: string,
    url: string,
    token: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> {
    const response = await fetch(url, {
      method,
      headers: {
        ...(token !== '' && { authorization: `Bearer ${token}` }),
        'content-type': 'application/json',
        ...headers,
      },
      ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    const said = JSON.parse(await response.text()) as Record<string, unknown>
    return { status: response.status, code: typeof said.code === 'string' ? said.code : '', body: said }
  }
}

/** The address of the pay page, from an answer that must have one. */
export function payUrlOf(reply: Reply): string {
  const { payUrl } = reply.body
  if (reply.status !== 201 || typeof payUrl !== 'string') throw new Error(`no payment: ${JSON.stringify(reply)}`)
  return payUrl
}

/** Signed by hand: thousands are needed, and this is twenty times faster than a general library. */
export function buyerToken(buyer: string): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { sub: buyer, exp: Math.floor(systemClock.now() / 1000) + 6 * 3600 }
  const signed = `${part({ alg: 'HS256' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', BUYER_JWT_SECRET).update(signed).digest('base64url')}`
}
