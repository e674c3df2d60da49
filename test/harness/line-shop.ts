/** A shop with a waiting line, as the tests play it: its operator, and buyers who join, ask, leave, get tickets and order, over HTTP as API.md has it. */

import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import type { OperatorSaleAnswer, OrderAnswer } from '../../src/wire/answers.ts'
import type { JoinAnswer } from '../../src/wire/line/line-shapes.ts'
import { assertDescribed } from './described.ts'
import { buyerToken, Till } from './money.ts'
import { until } from './until.ts'

export interface LineSale {
  readonly id: string
  readonly item: string
}

interface LineReply {
  readonly status: number
  readonly code: string
  readonly body: Readonly<Record<string, unknown>>
}

interface LineWish {
  readonly units?: number
  readonly opensInMs?: number
  readonly lineOpensInMs?: number
  readonly line?: Readonly<Record<string, unknown>>
  readonly more?: Readonly<Record<string, unknown>>
}

const ANSWER_MS_MAX = 60_000

export class LineShop {
  readonly till: Till
  readonly #url: () => string

  constructor(url: () => string) {
    this.#url = url
    this.till = new Till(url)
  }

  /** A published sale with a line; open, unless it is said otherwise. */
  async openSale({
    units = 5,
    opensInMs = -1_000,
    lineOpensInMs = -60_000,
    line = {},
    more = {},
  }: LineWish = {}): Promise<LineSale> {
    const opensAtMs = systemClock.now() + opensInMs
    const sale = (await this.till.operator('POST', '/sales', {
      name: 'Line',
      opensAt: toRfc3339(opensAtMs),
      closesAt: toRfc3339(opensAtMs + 3_600_000),
      line: { opensAt: toRfc3339(systemClock.now() + lineOpensInMs), order: 'arrival', ...line },
      items: [{ name: 'Kettle', price: { amount: 100, currency: 'CNY' }, units }],
      ...more,
    })) as unknown as OperatorSaleAnswer
    await this.till.operator('POST', `/sales/${sale.id}/publish`)
    return { id: sale.id, item: sale.items[0]!.id }
  }

  async join(sale: LineSale, buyer: string): Promise<JoinAnswer> {
    const { status, body, code } = await this.ask('POST', sale, buyer)
    if (status !== 201 && status !== 200) throw new Error(`${buyer} could not join: ${status} ${code}`)
    return body as unknown as JoinAnswer
  }

  async where(sale: LineSale, buyer: string): Promise<JoinAnswer> {
    const { status, body, code } = await this.ask('GET', sale, buyer)
    if (status !== 200) throw new Error(`${buyer} is not in line: ${status} ${code}`)
    return body as unknown as JoinAnswer
  }

  leave(sale: LineSale, buyer: string): Promise<LineReply> {
    return this.ask('DELETE', sale, buyer)
  }

  ask(method: string, sale: LineSale, buyer: string, body?: unknown): Promise<LineReply> {
    return this.call(method, `/api/sales/${sale.id}/line`, buyerToken(buyer), body)
  }

  ticket(sale: LineSale, buyer: string): Promise<LineReply> {
    return this.call('POST', `/api/sales/${sale.id}/items/${sale.item}/ticket`, buyerToken(buyer))
  }

  async order(sale: LineSale, buyer: string): Promise<OrderAnswer> {
    const ticket = await this.ticket(sale, buyer)
    const { status, code, body } = await this.orderBy(sale, String(ticket.body.ticket))
    if (status !== 201) throw new Error(`${buyer} could not order: ${ticket.code} ${status} ${code}`)
    return body as unknown as OrderAnswer
  }

  orderBy(sale: LineSale, ticket: string): Promise<LineReply> {
    return this.call('POST', `/api/sales/${sale.id}/items/${sale.item}/orders`, ticket)
  }

  steer(sale: LineSale, what: string, body?: unknown): Promise<Readonly<Record<string, unknown>>> {
    return this.till.operator('POST', `/sales/${sale.id}/line/${what}`, body)
  }

  /** Waits until the buyer's state in line is this one. */
  isIn(sale: LineSale, buyer: string, state: JoinAnswer['state']): Promise<JoinAnswer> {
    return until(`${buyer} is ${state}`, async () => {
      const join = await this.where(sale, buyer)
      return join.state === state ? join : undefined
    })
  }

  async call(method: string, path: string, token: string, body?: unknown): Promise<LineReply> {
    const response = await fetch(this.#url() + path, {
      method,
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
      ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }),
    })
    const text = await response.text()
    assertDescribed(method, path, response.status, response.headers, text)
    const parsed = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
    return { status: response.status, code: String(parsed.code ?? ''), body: parsed }
  }
}
