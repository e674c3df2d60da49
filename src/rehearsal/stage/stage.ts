/**
 * The operator's side of a rehearsal: makes a sale of its own, marked as one, moves its opening, reads its books, ends it. It never
 * touches any other sale. Whatever stands in the way is a Fault with one clear line.
 */

import { type Clock, toRfc3339 } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { OrderState } from '../../domain/order.ts'
import type {
  AuditAnswer,
  AuditsAnswer,
  OrderAnswer,
  PaymentAnswer,
  TimeAnswer,
  WholeOrderAnswer,
} from '../../wire/answers.ts'

export type { AuditAnswer as WireAudit }
/** Listed to operators: placed, or refused. */
export type WireOrder = OrderAnswer & { readonly state: OrderState; readonly placedAt: string }

export interface Place {
  /** Origin and path, without a slash at the end. */
  readonly url: string
  readonly token: string
}

export interface StagedSale {
  readonly sale: string
  readonly item: string
  readonly name: string
  readonly opensAtMs: number
}

const ANSWER_MS_MAX = 30_000
/** From the first planned opening. Who plans the clicks must know it. */
const SALE_MS = 2 * 3_600_000
const WARE = {
  name: 'Rehearsal: these units do not exist',
  sku: 'rehearsal',
  price: { amount: 19_900, currency: 'CNY' },
}
const PAGE = 1000
const PAYMENTS_AT_ONCE = 16
const TIME_SAMPLES = 9
const AGAIN_MS = 500
/** A limit, of the server or of a proxy before it, that the crowd may share with the operator: nothing was done, and it passes. */
const LIMITED = 'rate_limited'
const LIMITED_AGAIN_MS = 1_000
const LIMITED_MS_MAX = 30_000
/** Of the server or of a proxy before it: neither has looked at the request for long. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504])

/** How an operator asks; by default once, and as long as an answer may take. */
interface Asking {
  /** So long a server that is away is asked again; only for those who change nothing by asking twice. */
  readonly patienceMs?: number
  /** For one answer. */
  readonly answerMsMax?: number
  /** What is being asked then is given up, and nothing is asked afterwards. */
  readonly stop?: AbortSignal
}

export function createStage(place: Place, clock: Clock, asking: Asking = {}) {
  const { patienceMs = 0, answerMsMax = ANSWER_MS_MAX, stop } = asking

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const fromMs = clock.elapsed()
    for (;;) {
      try {
        return await callOnce<T>(method, path, body)
      } catch (error) {
        if (!(error instanceof Fault && error.retryable)) throw error
        const limited = error.code === LIMITED
        if (clock.elapsed() - fromMs >= (limited ? Math.max(patienceMs, LIMITED_MS_MAX) : patienceMs)) throw error
        await clock.sleep(limited ? LIMITED_AGAIN_MS : AGAIN_MS, stop)
      }
    }
  }

  async function callOnce<T>(method: string, path: string, body: unknown): Promise<T> {
    if (stop?.aborted) throw new Fault('interrupted', 'interrupted')
    const late = new AbortController()
    const done = new AbortController()
    const giveUp = () => late.abort()
    stop?.addEventListener('abort', giveUp)
    void clock.sleep(answerMsMax, done.signal).then(() => done.signal.aborted || late.abort())
    let status: number
    let text: string
    try {
      const response = await fetch(place.url + path, {
        method,
        headers: { authorization: `Bearer ${place.token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: late.signal,
      })
      status = response.status
      text = await response.text()
    } catch (cause) {
      if (stop?.aborted) throw new Fault('interrupted', 'interrupted', { cause })
      throw new Fault('server_away', `no server answers on ${place.url}: check --against`, { retryable: true, cause })
    } finally {
      done.abort()
      stop?.removeEventListener('abort', giveUp)
    }
    const answer = parse(text)
    if (status === 429)
      throw new Fault(LIMITED, `${place.url} is asked too often: ${method} ${path}`, { retryable: true })
    if (AWAY.has(status))
      throw new Fault(
        String(answer?.code ?? 'server_away'),
        `${place.url} refused ${method} ${path}: ${String(answer?.detail ?? status)}`,
        { retryable: true },
      )
    if (answer === undefined)
      throw new Fault('not_stampede', `what answers on ${place.url} is not a Stampede server: check --against`)
    if (status === 401)
      throw new Fault(
        'token_refused',
        `${place.url} does not accept this operator token: pass the right one with --token`,
      )
    if (status >= 400)
      throw new Fault(String(answer.code), `${place.url} refused ${method} ${path}: ${String(answer.detail ?? status)}`)
    return answer as T
  }

  return {
    /** Is it there, is it Stampede, and may we? Its clock, as an offset to our own `elapsed`. */
    async meet(): Promise<{ readonly serverMsAtZero: number }> {
      await call('GET', '/api/admin/sales')
      let best = { roundTripMs: Number.POSITIVE_INFINITY, serverMsAtZero: 0 }
      for (let i = 0; i < TIME_SAMPLES; i++) {
        const fromMs = clock.elapsed()
        const { unixMs } = await call<TimeAnswer>('GET', '/api/time')
        const roundTripMs = clock.elapsed() - fromMs
        if (roundTripMs < best.roundTripMs) best = { roundTripMs, serverMsAtZero: unixMs - (fromMs + roundTripMs / 2) }
      }
      return best
    },

    /** A sale nobody can take for a real one, with units of its own: a draft, which nobody sees yet. */
    async create(units: number, shards: number, opensAtMs: number): Promise<StagedSale> {
      const name = `REHEARSAL ${toRfc3339(opensAtMs).slice(0, 19)}Z, not for sale`
      const sale = await call<{ id: string; items: { id: string }[] }>('POST', '/api/admin/sales', {
        name,
        opensAt: toRfc3339(opensAtMs),
        closesAt: toRfc3339(opensAtMs + SALE_MS),
        items: [{ ...WARE, units, ...(shards > 1 && { shards }) }],
      })
      return { sale: sale.id, item: sale.items[0]!.id, name, opensAtMs }
    },

    /** From here on it is public, whatever becomes of the answer: whoever calls this ends it. */
    async publish(sale: string): Promise<void> {
      await call('POST', `/api/admin/sales/${sale}/publish`)
      await call('POST', `/api/admin/sales/${sale}/warm`)
    },

    async moveOpening(sale: string, opensAtMs: number): Promise<void> {
      await call('PATCH', `/api/admin/sales/${sale}`, { opensAt: toRfc3339(opensAtMs) })
    },

    async audit(sale: string): Promise<AuditAnswer> {
      const { items } = await call<AuditsAnswer>('GET', `/api/admin/sales/${sale}/audit`)
      return items[0]!
    },

    async orders(sale: string): Promise<readonly WireOrder[]> {
      const orders: WireOrder[] = []
      for (let after = ''; ; ) {
        const page = await call<{ orders: WireOrder[]; next: string | null }>(
          'GET',
          `/api/admin/sales/${sale}/orders?limit=${PAGE}${after}`,
        )
        orders.push(...page.orders)
        if (page.next === null) return orders
        after = `&after=${page.next}`
      }
    },

    /** The payments of these orders, by order; those that were read until `enough`. */
    async payments(
      orders: readonly string[],
      enough?: AbortSignal,
    ): Promise<ReadonlyMap<string, readonly PaymentAnswer[]>> {
      const found = new Map<string, readonly PaymentAnswer[]>()
      const left = [...orders]
      const read = async () => {
        try {
          for (let id = left.pop(); id !== undefined && !enough?.aborted; id = left.pop())
            found.set(id, (await call<WholeOrderAnswer>('GET', `/api/admin/orders/${id}`)).payments)
        } catch (error) {
          left.length = 0
          throw error
        }
      }
      await Promise.all(Array.from({ length: PAYMENTS_AT_ONCE }, read))
      return found
    },

    async end(sale: string): Promise<void> {
      await call('POST', `/api/admin/sales/${sale}/end`)
    },
  }
}

export type Stage = ReturnType<typeof createStage>

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
