/**
 * For tests: a shop's own till, written from docs/payments.md with plain HMACs of its own. A real HTTP server with a pay page; it checks the signed
 * address, takes the money, reports it until it has an answer that counts, reads the event feed for money that has to go back, gives it
 * back once, and reports that too. It keeps the shop's books.
 *
 * A `lost` report is lost on its way, and the next try arrives: nothing but the till can find such money.
 */

import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../base/clock.ts'
import type { LocalProvider } from '../contract/local-provider.ts'

interface TillOptions {
  readonly secret?: string
  /** For the feed of events; undefined: the till is not told of refunds. */
  readonly operatorToken?: string
  /** The till's own name for a payment. */
  readonly referenceOf?: (ref: string) => string
}

interface Entry {
  readonly order: string
  readonly amount: { readonly amount: number; readonly currency: string }
  captured: number
  refunded: number
}

interface Reply {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

const AGAIN_MS = 100
const TRIES_MAX = 600

export async function openShopTill(options: TillOptions = {}) {
  const {
    secret = 'the-till-of-the-tests-has-this-secret-0',
    operatorToken,
    referenceOf = ref => `INV-${ref}`,
  } = options
  const entries = new Map<string, Entry>()
  const given = new Set<string>()
  const stopping = new AbortController()
  const reporting = new Set<Promise<unknown>>()
  let origin = ''
  let reader: Promise<void> | undefined

  const mac = (text: string) => createHmac('sha256', secret).update(text).digest('hex')

  /** One signed call. */
  async function send(path: string, body: unknown, atS = Math.floor(systemClock.now() / 1000)): Promise<Reply> {
    const text = JSON.stringify(body)
    const response = await fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stampede-signature': `t=${atS},v1=${mac(`${atS}.${text}`)}` },
      body: text,
      signal: stopping.signal,
    })
    const said = await response.text()
    return { status: response.status, body: said.startsWith('{') ? JSON.parse(said) : {} }
  }

  /** As the documents ask for it: again, freshly signed, until there is an answer that counts. */
  async function insist(path: string, body: unknown): Promise<Reply> {
    for (let tries = 0; ; tries++) {
      const reply = await send(path, body).catch(() => undefined)
      if (reply !== undefined && reply.status < 500 && reply.body.code !== 'not_placed') return reply
      if (stopping.signal.aborted || tries >= TRIES_MAX) throw new Error(`no answer to ${path} ${JSON.stringify(body)}`)
      await systemClock.sleep(AGAIN_MS)
    }
  }

  const report = (ref: string) => {
    const { order, amount } = entries.get(ref)!
    return insist('/api/payments/shop/captures', { order, reference: referenceOf(ref), amount })
  }

  /** The buyer presses "pay": the address is checked, then the money is taken, once. */
  function take(url: URL): 'captured' | 'refused' {
    const value = (name: string) => url.searchParams.get(name) ?? ''
    const signed = ['pay', value('order'), value('ref'), value('amount'), value('currency'), value('by')].join('.')
    if (mac(signed) !== value('sig')) return 'refused'
    const amount = { amount: Number(value('amount')), currency: value('currency') }
    if (!entries.has(value('ref')))
      entries.set(value('ref'), { order: value('order'), amount, captured: amount.amount, refunded: 0 })
    return 'captured'
  }

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://till')
    const answer = request.method === 'POST' ? take(url) : 'the till'
    response.writeHead(answer === 'refused' ? 403 : 200, { 'content-type': 'text/plain' }).end(answer)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const page = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pay`

  /** Money that has to go back: each payment or part of one once, whatever is read twice. */
  async function giveBack(event: {
    data: { id: string; provider: string; ref: string; order: string; amount: { amount: number }; part?: string }
  }) {
    const { provider, ref: reference, order, amount, part } = event.data
    const id = part ?? event.data.id
    const entry = [...entries].find(([ref]) => referenceOf(ref) === reference)?.[1]
    if (provider !== 'shop' || entry === undefined) return
    if (!given.has(id)) entry.refunded += amount.amount
    given.add(id)
    await insist('/api/payments/shop/refunds', {
      order,
      reference,
      ...(part !== undefined && { part }),
      refundReference: `CN-${id}`,
    })
  }

  async function readFeed(token: string): Promise<void> {
    for (let after = '0'; !stopping.signal.aborted; ) {
      try {
        const response = await fetch(
          `${origin}/api/admin/events?after=${after}&types=stampede.payment.refund_due&wait=5`,
          {
            headers: { authorization: `Bearer ${token}` },
            signal: stopping.signal,
          },
        )
        if (!response.ok) throw new Error(`the feed says ${response.status}`)
        const { events, next } = (await response.json()) as { events: Parameters<typeof giveBack>[0][]; next: string }
        for (const event of events) await giveBack(event)
        after = next
      } catch {
        await systemClock.sleep(AGAIN_MS)
      }
    }
  }

  const provider: LocalProvider = {
    name: 'shop',
    settings: {
      SHOP_PAYMENT_SECRET: secret,
      SHOP_PAY_URL: `${page}?order={order}&ref={ref}&amount={amount}&currency={currency}&by={payBy}&back={return}&sig={signature}`,
    },
    callBackTo(url) {
      origin = new URL(url).origin
      if (operatorToken !== undefined) reader ??= readFeed(operatorToken)
    },
    async approve(payUrl, callback = 'plain') {
      const answer = (await (await fetch(payUrl, { method: 'POST' })).text()) as 'captured' | 'refused'
      if (answer === 'refused') return answer
      const ref = new URL(payUrl).searchParams.get('ref') ?? ''
      const lateMs = typeof callback === 'object' ? callback.lateMs : callback === 'lost' ? AGAIN_MS : 0
      const first = lateMs === 0 ? report(ref) : systemClock.sleep(lateMs).then(() => report(ref))
      const all = callback === 'double' ? [first, report(ref)] : [first]
      const done: Promise<unknown> = Promise.allSettled(all).finally(() => reporting.delete(done))
      reporting.add(done)
      if (lateMs === 0) await done
      return answer
    },
    decline: async () => {},
    books: () => new Map([...entries].map(([ref, { captured, refunded }]) => [ref, { captured, refunded }])),
    async close() {
      stopping.abort()
      await Promise.all([...reporting, reader])
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return { ...provider, send, report, page }
}
