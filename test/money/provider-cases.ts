/**
 * Pay against close on any provider: orders that are paid around their deadline, and a server that is killed wherever money is on its way. Judged
 * by the provider's own books: what it has captured and not refunded is the price of the paid orders, of each order at most one.
 * A further provider is one line in `LOCAL_PROVIDERS`.
 */

import { expect } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { seededRandom, systemRandom } from '../../src/base/random.ts'
import { openAlipayServer } from '../../src/payment/alipay/alipay-server.fixture.ts'
import type { LocalProvider } from '../../src/payment/contract/local-provider.ts'
import { openShopTill } from '../../src/payment/shop/shop-till.fixture.ts'
import { openLocalStripe } from '../../src/payment/stripe/stripe-server.fixture.ts'
import { openWechatServer } from '../../src/payment/wechat/wechat-server.fixture.ts'
import { atMost } from '../harness/crowd.ts'
import { freePort } from '../harness/free-port.ts'
import { payUrlOf } from '../harness/money.ts'
import { housePayments, sql } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import type { Playground } from '../harness/playground.ts'
import type { WireOrder } from '../harness/shop.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

/** `stage` is there when the first buyer pays. */
const LOCAL_PROVIDERS: Readonly<Record<string, (stage: () => MoneyStage) => Promise<LocalProvider>>> = {
  sandbox: async stage => sandboxOf(stage),
  stripe: () => openLocalStripe(),
  alipay: () => openAlipayServer('key'),
  wechat: () => openWechatServer(),
  shop: () => openShopTill({ operatorToken: ADMIN_TOKEN, referenceOf: ref => ref }),
}

export const PROVIDER_NAMES = Object.keys(LOCAL_PROVIDERS)

const PRICE = 199_900
const WIDTH = 32
const AROUND_MS = 1_500
const DUE_IN_S = 5
/** Where the process dies: the start of a payment, its capture, the closing of its order, its refund. */
export const KILLS = [
  'payment.recorded',
  'payment.begun',
  'pay.before',
  'pay.after',
  'close.before',
  'close.after',
  'refund.before',
  'refund.sent',
] as const

export class ProviderStage {
  readonly #stage: MoneyStage
  readonly #providers: readonly LocalProvider[]

  private constructor(stage: MoneyStage, providers: readonly LocalProvider[]) {
    this.#stage = stage
    this.#providers = providers
  }

  /** One server with all of these providers. */
  static async open(playground: Playground, names: readonly string[], units: number): Promise<ProviderStage> {
    let stage: MoneyStage | undefined
    const providers: LocalProvider[] = []
    for (const name of names) {
      const provider = await LOCAL_PROVIDERS[name]!(() => stage!)
      playground.onUndo(() => provider.close())
      providers.push(provider)
    }
    const settings = Object.assign({}, ...providers.map(one => one.settings)) as Record<string, string>
    // Callbacks go to the address that a request named, also after a restart.
    const env = { PAYMENT_PROVIDERS: names.join(','), PORT: `${await freePort()}`, ...settings }
    stage = await MoneyStage.set(playground, { units, payWithinSeconds: 900 }, env)
    for (const one of providers) one.callBackTo?.(`${stage.site.url()}/api/payments/${one.name}/callback`)
    return new ProviderStage(stage, providers)
  }

  /** Orders at each provider, which are paid, declined, cancelled or left alone around their deadline. */
  async payAgainstClose(ordersEach: number): Promise<void> {
    const seed = Math.floor(systemRandom.next() * 2 ** 32)
    console.log(`  seed ${seed}`)
    const random = seededRandom(seed)
    const wishes = this.#providers.flatMap(provider =>
      Array.from({ length: ordersEach }, () => ({ provider, what: random.next(), when: random.next() })),
    )
    const billed = await atMost(WIDTH, wishes, async wish => ({ ...wish, ...(await this.#billed(wish.provider)) }))
    const due = await sql(
      this.#stage.dataDir,
      "UPDATE orders SET pay_by = statement_timestamp() + $1 * interval '1 second' WHERE state = 'pending' RETURNING pay_by",
      [DUE_IN_S],
    )
    const dueAtMs = (due[0]!.pay_by as Date).getTime()
    await Promise.all(
      billed.map(async ({ provider, order, payUrl, what, when }) => {
        // A callback that never comes: a query finds the money.
        if (what < 0.15) return provider.approve(payUrl, 'lost')
        await systemClock.sleep(Math.max(0, dueAtMs + (when * 2 - 1) * AROUND_MS - systemClock.now()))
        if (what < 0.5) await provider.approve(payUrl)
        else if (what < 0.65) await provider.approve(payUrl, 'double')
        else if (what < 0.8) await provider.approve(payUrl, { lateMs: Math.floor(when * 2_000) })
        else if (what < 0.87) await provider.decline(payUrl)
        else if (what < 0.94) await this.#stage.till.cancel(order)
        return undefined
      }),
    )
    await this.judge()
  }

  /** The server dies at this point with a payment of this provider, and comes back. */
  async dieAt(point: (typeof KILLS)[number], name: string): Promise<void> {
    const provider = this.#providers.find(one => one.name === name)!
    const { till, dataDir } = this.#stage
    const makeDue = (order: WireOrder) =>
      sql(dataDir, 'UPDATE orders SET pay_by = clock_timestamp() WHERE id = $1', [order.id])
    const kill = (act: () => Promise<unknown>) => this.#stage.dieAt(`${point}=kill`, act)
    if (point.startsWith('payment.')) {
      const order = await this.#stage.order()
      await kill(() => till.payBy(order, { provider: name }))
      expect(await provider.approve(payUrlOf(await till.payBy(order, { provider: name })))).toBe('captured')
      await this.#stage.untilState(order, 'paid')
    } else if (point.startsWith('pay.')) {
      // A till reports until it has an answer, and that comes when the server is back.
      let paying: Promise<unknown> | undefined
      await kill(async () => {
        const { payUrl } = await this.#billed(provider)
        paying = provider.approve(payUrl).catch(() => {})
      })
      await paying
    } else if (point.startsWith('close.')) {
      let payUrl = ''
      await kill(async () => {
        const one = await this.#billed(provider)
        payUrl = one.payUrl
        await makeDue(one.order)
      })
      // Whether it can still be paid is the provider's to say: if so, the money goes back.
      await provider.approve(payUrl)
    } else {
      const { order, payUrl } = await this.#billed(provider)
      await provider.approve(payUrl)
      await this.#stage.untilState(order, 'paid')
      await kill(() => till.refund(order.id, true))
      expect((await till.refund(order.id, true)).status).toBe(200)
    }
    await this.judge()
  }

  /** Captured − refunded = price × paid: of each order, and in all. */
  async judge(): Promise<void> {
    const kept = () =>
      new Map(
        this.#providers
          .flatMap(one => [...one.books()])
          .map(([ref, { captured, refunded }]) => [ref, captured - refunded]),
      )
    const wrongs = async () => {
      const house = kept()
      const rows = await sql(
        this.#stage.dataDir,
        `SELECT o.id, o.state, array_agg(p.ref) AS refs, bool_or(p.state = 'refund_due') AS due,
                string_agg(concat_ws(' ', p.provider, p.ref, p.state, p.why, p.ended), ', ') AS said
         FROM orders o JOIN payments p ON p.order_id = o.id GROUP BY o.id, o.state`,
      )
      const known = new Set(rows.flatMap(row => row.refs as string[]))
      const stray = [...house.keys()].filter(ref => !known.has(ref)).map(ref => `${ref} is no payment of ours`)
      return rows
        .filter(row => {
          const sum = (row.refs as string[]).reduce((all, ref) => all + (house.get(ref) ?? 0), 0)
          return row.due === true || sum !== (row.state === 'paid' ? PRICE : 0)
        })
        .map(row => `order ${row.id} is ${row.state}, its money does not fit: ${row.said}`)
        .concat(stray)
    }
    const pending = "SELECT 1 FROM orders WHERE state = 'pending' AND pay_by <= clock_timestamp()"
    const settled = async () => (await sql(this.#stage.dataDir, pending)).length === 0 && (await wrongs()).length === 0
    await until('the money fits', settled, 180_000).catch(async error => {
      throw new Error(`${error}\n${(await wrongs()).slice(0, 20).join('\n')}`)
    })
    const [audit] = await this.#stage.shop.audit(this.#stage.sale.id)
    const total = [...kept().values()].reduce((sum, one) => sum + one, 0)
    expect(total, 'captured − refunded = price × paid').toBe(PRICE * (audit?.paid ?? Number.NaN))
  }

  /** What the server has written down and said. */
  async traces(): Promise<string> {
    const { dataDir, site } = this.#stage
    const tables = await sql(dataDir, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    // A connection each, beside the server's own: the ledger has more tables than PostgreSQL has connections.
    const rows = await atMost(8, tables, ({ tablename }) =>
      sql(dataDir, `SELECT row_to_json(t)::text AS row FROM "${tablename}" t`),
    )
    return `${rows
      .flat()
      .map(({ row }) => row)
      .join('\n')}\n${site.server().output()}`
  }

  async #billed(provider: LocalProvider) {
    const order = await this.#stage.order()
    return { order, payUrl: payUrlOf(await this.#stage.till.payBy(order, { provider: provider.name })) }
  }
}

/** The sandbox is a part of the server: it is reached at its pay pages, and its books are in the data folder. */
function sandboxOf(stage: () => MoneyStage): LocalProvider {
  const decide = async (payUrl: string, what: string) => (await stage().till.decide(payUrl, what)).status
  return {
    name: 'sandbox',
    settings: {},
    async approve(payUrl, mode = 'plain') {
      const word = typeof mode === 'object' ? `late:${mode.lateMs}` : mode
      return (await decide(payUrl, `approve?mode=${word}`)) === 200 ? 'captured' : 'refused'
    },
    decline: async payUrl => void (await decide(payUrl, 'decline')),
    books() {
      const all = [...housePayments(stage().dataDir).values()]
      return new Map(
        all.map(({ ref, state, captured }) => {
          const taken = captured?.amount.amount ?? 0
          return [ref, { captured: taken, refunded: state === 'refunded' ? taken : 0 }]
        }),
      )
    },
    close: async () => {},
  }
}
