/**
 * The operator's side of a rehearsal: creates a sale that is marked as one, moves its opening, reads its audit and orders, ends it. Touches
 * no other sale. Every failure is a Fault with a message of one line.
 */

import { type Clock, toRfc3339 } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { LineRate } from '../../domain/line.ts'
import type { OrderState } from '../../domain/order.ts'
import type { PaymentFacts } from '../../domain/promises/snapshot.ts'
import type {
  AuditAnswer,
  AuditsAnswer,
  OperatorSaleAnswer,
  OrderAnswer,
  TimeAnswer,
  WholeOrderAnswer,
} from '../../wire/answers.ts'
import { parseObject } from '../client/answers.ts'

/** As the operator's list shows it: placed, or refused. */
export type PlacedOrder = OrderAnswer & { readonly state: OrderState; readonly placedAt: string }

export interface Server {
  /** Origin and path, without a slash at the end. */
  readonly url: string
  readonly token: string
}

interface OperatorOptions {
  /** How long a call is repeated while the server does not answer; only for calls without a second effect. */
  readonly retryMs?: number
  /** Time limit of one answer. */
  readonly answerMsMax?: number
  /** Aborts the open call; later calls fail at once. */
  readonly stop?: AbortSignal
}

const ANSWER_MS_MAX = 30_000
/** From the first planned opening; `cli/rehearse-options.ts` limits the clicks accordingly. */
const SALE_MS = 2 * 3_600_000
const ITEM = {
  name: 'Rehearsal: these units do not exist',
  sku: 'rehearsal',
  price: { amount: 19_900, currency: 'CNY' },
}
const PAGE = 1000
const PAYMENTS_AT_ONCE = 16
const TIME_SAMPLES = 9
const RETRY_WAIT_MS = 500
/** The crowd may share a rate limit with the operator: the call had no effect, and the limit passes. */
const LIMITED = 'rate_limited'
const LIMITED_WAIT_MS = 1_000
const LIMITED_MS_MAX = 30_000
/** From the server, or from a proxy before it that could not reach it. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504])

export class Operator {
  readonly #server: Server
  readonly #clock: Clock
  readonly #options: OperatorOptions

  constructor(server: Server, clock: Clock, options: OperatorOptions = {}) {
    this.#server = server
    this.#clock = clock
    this.#options = options
  }

  /** Checks that a Stampede server answers and accepts the token. Returns the server's time at zero of our `elapsed`. */
  async connect(): Promise<{ readonly serverMsAtZero: number }> {
    await this.#call('GET', '/api/admin/sales')
    let best = { roundTripMs: Number.POSITIVE_INFINITY, serverMsAtZero: 0 }
    for (let i = 0; i < TIME_SAMPLES; i++) {
      const fromMs = this.#clock.elapsed()
      const { unixMs } = await this.#call<TimeAnswer>('GET', '/api/time')
      const roundTripMs = this.#clock.elapsed() - fromMs
      if (roundTripMs < best.roundTripMs) best = { roundTripMs, serverMsAtZero: unixMs - (fromMs + roundTripMs / 2) }
    }
    return best
  }

  /** A draft with units of its own and a name that can't be taken for a real sale. No public list shows it, before and after it is published. */
  async create(units: number, shards: number, nowMs: number, opensAtMs: number, line?: { readonly rate: LineRate }) {
    const name = `REHEARSAL ${toRfc3339(nowMs).slice(0, 19)}Z, not for sale`
    const sale = await this.#call<OperatorSaleAnswer>('POST', '/api/admin/sales', {
      name,
      opensAt: toRfc3339(opensAtMs),
      closesAt: toRfc3339(opensAtMs + SALE_MS),
      ...(line !== undefined && { line: { opensAt: toRfc3339(nowMs), order: 'arrival', rate: line.rate } }),
      listed: false,
      items: [{ ...ITEM, units, ...(shards > 1 && { shards }) }],
    })
    return { sale: sale.id, item: sale.items[0]!.id, name, opensAtMs }
  }

  /** From here on buyers who know its address can buy, even if the answer is lost: the caller must end it. */
  async publish(sale: string): Promise<void> {
    await this.#call('POST', `/api/admin/sales/${sale}/publish`)
    await this.#call('POST', `/api/admin/sales/${sale}/warm`)
  }

  async moveOpening(sale: string, opensAtMs: number): Promise<void> {
    await this.#call('PATCH', `/api/admin/sales/${sale}`, { opensAt: toRfc3339(opensAtMs) })
  }

  async audit(sale: string): Promise<AuditAnswer> {
    const { items } = await this.#call<AuditsAnswer>('GET', `/api/admin/sales/${sale}/audit`)
    return items[0]!
  }

  async orders(sale: string): Promise<readonly PlacedOrder[]> {
    const orders: PlacedOrder[] = []
    for (let after = ''; ; ) {
      const path = `/api/admin/sales/${sale}/orders?limit=${PAGE}${after}`
      const page = await this.#call<{ orders: PlacedOrder[]; next: string | null }>('GET', path)
      orders.push(...page.orders)
      if (page.next === null) return orders
      after = `&after=${page.next}`
    }
  }

  /** The payments of these orders. `enough` ends the reading early. */
  async payments(orders: readonly string[], enough: AbortSignal): Promise<PaymentFacts[]> {
    const found: PaymentFacts[] = []
    const left = [...orders]
    const read = async () => {
      try {
        for (let order = left.pop(); order !== undefined && !enough.aborted; order = left.pop()) {
          const { payments } = await this.#call<WholeOrderAnswer>('GET', `/api/admin/orders/${order}`)
          for (const { amount, state } of payments) found.push({ order, amount, state })
        }
      } catch (error) {
        left.length = 0
        throw error
      }
    }
    await Promise.all(Array.from({ length: PAYMENTS_AT_ONCE }, read))
    return found
  }

  async end(sale: string): Promise<void> {
    await this.#call('POST', `/api/admin/sales/${sale}/end`)
  }

  async #call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { retryMs = 0, stop } = this.#options
    const fromMs = this.#clock.elapsed()
    for (;;) {
      try {
        return await this.#callOnce<T>(method, path, body)
      } catch (error) {
        if (!(error instanceof Fault && error.retryable)) throw error
        const limited = error.code === LIMITED
        if (this.#clock.elapsed() - fromMs >= (limited ? Math.max(retryMs, LIMITED_MS_MAX) : retryMs)) throw error
        await this.#clock.sleep(limited ? LIMITED_WAIT_MS : RETRY_WAIT_MS, stop)
      }
    }
  }

  async #callOnce<T>(method: string, path: string, body: unknown): Promise<T> {
    const { url, token } = this.#server
    const { answerMsMax = ANSWER_MS_MAX, stop } = this.#options
    if (stop?.aborted) throw new Fault('interrupted', 'interrupted')
    const { status, text } = await withDeadline(this.#clock, answerMsMax, async deadline => {
      const response = await fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: stop === undefined ? deadline : AbortSignal.any([deadline, stop]),
      })
      return { status: response.status, text: await response.text() }
    }).catch((cause: unknown) => {
      if (stop?.aborted) throw new Fault('interrupted', 'interrupted', { cause })
      throw new Fault('server_away', `no server answers on ${url}: check --against`, { retryable: true, cause })
    })
    const answer = parseObject(text)
    const refused = `${url} refused ${method} ${path}: ${String(answer?.detail ?? status)}`
    if (status === 429) throw new Fault(LIMITED, `${url} limits requests: ${method} ${path}`, { retryable: true })
    if (AWAY.has(status)) throw new Fault(String(answer?.code ?? 'server_away'), refused, { retryable: true })
    if (answer === undefined)
      throw new Fault('not_stampede', `the server on ${url} is not a Stampede server: check --against`)
    if (status === 401)
      throw new Fault('token_refused', `${url} does not accept this operator token: pass the right one with --token`)
    if (status >= 400) throw new Fault(String(answer.code), refused)
    return answer as T
  }
}
