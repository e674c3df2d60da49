/**
 * A small cluster that is watched, and every fault that an alert of `deploy/prometheus/` is made for. Each fault is a real one: what an
 * operator, a server or a stranger could do to a cluster; where a hand in the tables is needed, that is the fault.
 */

import { systemClock } from '../../src/base/clock.ts'
import { openLocalStripe } from '../../src/payment/stripe/stripe-server.fixture.ts'
import type { OrderAnswer } from '../../src/wire/answers.ts'
import { AlertMonitor } from '../harness/alert-monitor.ts'
import { Cluster } from '../harness/cluster.ts'
import { freePort } from '../harness/free-port.ts'
import { Till } from '../harness/money.ts'
import type { Playground } from '../harness/playground.ts'
import { Shop, type ShopSale } from '../harness/shop.ts'
import { until } from '../harness/until.ts'
import { answer, openReceiver } from '../harness/webhook-receiver.ts'
import { WebhookDesk } from '../webhooks/webhook-desk.ts'

/** A minute is 0.4 s, five minutes are two seconds, half an hour is twelve. */
const SCALE = 150
const CLICK_EVERY_MS = 40
const PAUSE_MS = 250
const DELETE_EVERY_MS = 2
const MADE_UP_IDS = 40
const WAITING_AT_ONCE = 8

export class WatchedCluster {
  readonly cluster: Cluster
  readonly monitor: AlertMonitor
  readonly sale: ShopSale
  readonly #parts: Parts
  readonly #stop = new AbortController()
  readonly #mend: (() => unknown)[] = []
  #buyers = 0

  private constructor(parts: Parts) {
    this.#parts = parts
    this.cluster = parts.cluster
    this.monitor = parts.monitor
    this.sale = parts.sale
  }

  static async start(playground: Playground): Promise<WatchedCluster> {
    const stripe = await openLocalStripe()
    playground.onUndo(() => stripe.close())
    const targets: Record<string, number> = {}
    for (const name of ['edge-0', 'edge-1', 'worker-0', 'keeper-0']) targets[name] = await freePort()
    const cluster = await Cluster.start(playground, {
      roads: true,
      // Longer than a busy machine holds a process up: otherwise buyers are told "busy", and an alert says so.
      fenceMs: 1_500,
      env: { PAYMENT_PROVIDERS: 'stripe', ...stripe.settings, WEBHOOK_ALLOW_PRIVATE: '127.0.0.0/8' },
      envFor: (role, i) => ({ METRICS_PORT: String(targets[`${role}-${i}`]) }),
    })
    const url = () => cluster.of('edge')[0]!.server().url()
    const shop = new Shop(url)
    const sale = await shop.openSale(-1_000, [{ units: 50_000 }, { units: 2, quantityMax: 3 }])
    const monitor = await AlertMonitor.start(playground, { scale: SCALE, targets })
    const watched = new WatchedCluster({ playground, cluster, stripe, url, shop, till: new Till(url), sale, monitor })
    const clicking = watched.#click()
    playground.onUndo(async () => {
      watched.#stop.abort()
      await clicking
    })
    return watched
  }

  /** Undoes every fault that lasts. */
  async mend(): Promise<void> {
    for (const step of this.#mend.splice(0).reverse()) await step()
  }

  // Promises

  /** A hand in the tables takes units away that are sold. */
  async oversell(): Promise<void> {
    const { cluster, shop, till } = this.#parts
    const sale = await shop.openSale(-1_000, [{ units: 3 }])
    for (const buyer of ['ann', 'bob']) await this.#buy(buyer, sale)
    await cluster.quiet(shop, sale)
    const where = `WHERE id = ${sale.items[0]!.id}`
    await cluster.sql('ALTER TABLE items DROP CONSTRAINT available_within_units')
    await cluster.sql(`UPDATE items SET units = 1 ${where}`)
    await till.reconcile(sale.id)
    await cluster.sql(`UPDATE items SET units = 3 ${where}`)
  }

  /** A reservation that can't be read. */
  async poison(): Promise<void> {
    const { cluster, sale, shop } = this.#parts
    const item = sale.items[0]!.id
    const epoch = (await shop.audit(sale.id)).find(line => line.item === item)!.epoch
    await cluster.redis.command('XADD', `{${item}}:${epoch}:outbox`, '*', 'not', 'ours')
  }

  /** An order is closed while no keeper gives its units back. */
  async closeUnseen(order: OrderAnswer): Promise<void> {
    await this.cluster.sql(`SELECT close_orders(${order.item}, ARRAY[${order.id}::bigint], 'cancelled')`)
  }

  /** A row of another buyer has the id of a reservation that waits for the worker. */
  async takeId(): Promise<void> {
    const { cluster, sale } = this.#parts
    const { id, item } = await this.#buy('carl', sale)
    await cluster.sql(
      `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, reason, epoch, reserved_at, placed_at, closed_at)
       VALUES (${id}, ${item}, 'another', 1, 1, 1, 'CNY', 'closed', 'cancelled', 1, now(), now(), now())`,
    )
  }

  // Redis

  /** Every answer of the gate is late, those of refusals too. */
  slowGate(): void {
    this.#lasting(async () => {
      await this.cluster.redis.command('CLIENT', 'PAUSE', String(PAUSE_MS)).catch(() => {})
      await systemClock.sleep(PAUSE_MS / 5)
    })
    for (let i = 0; i < WAITING_AT_ONCE; i++)
      this.#lasting(async () => {
        await this.#refusedByGate()
      })
  }

  async fillRedis(): Promise<void> {
    const { redis } = this.cluster
    await redis.command('CONFIG', 'SET', 'maxmemory', '1')
    this.#mend.push(() => redis.command('CONFIG', 'SET', 'maxmemory', '0'))
  }

  /** Another program deletes an item's gate as often as it is built. */
  async deleteGate(): Promise<void> {
    const { cluster, shop } = this.#parts
    const sale = await shop.openSale(-1_000, [{ units: 3 }])
    this.#lasting(async () => {
      await cluster.redis.command('DEL', `{${sale.items[0]!.id}}:gate`)
      await systemClock.sleep(DELETE_EVERY_MS)
    })
  }

  async publishGarbage(): Promise<void> {
    for (let i = 0; i < 3; i++) await this.cluster.redis.command('PUBLISH', 'stampede:0:news', 'not ours')
  }

  /** Another program writes to the outbox's counter. */
  async miscount(): Promise<void> {
    const { cluster, shop, till } = this.#parts
    const sale = await shop.openSale(-1_000, [{ units: 3 }])
    await cluster.quiet(shop, sale)
    const [line] = await shop.audit(sale.id)
    await cluster.redis.command('HINCRBY', `{${line!.item}}:outboxes`, String(line!.epoch), '5')
    await till.reconcile(sale.id)
  }

  // Processes and PostgreSQL

  freeze(role: 'worker' | 'keeper'): void {
    const [member] = this.cluster.of(role)
    member!.freeze()
    this.#mend.push(() => member!.wake())
  }

  /** The second edge stands still most of the time. */
  stutter(): void {
    const member = this.cluster.of('edge')[1]!
    this.#lasting(async () => {
      member.freeze()
      await systemClock.sleep(200)
      member.wake()
      await systemClock.sleep(100)
    })
  }

  /** The second edge reaches neither Redis nor PostgreSQL. */
  isolate(): void {
    const { redisRoad, postgresRoad } = this.cluster.of('edge')[1]!
    for (const road of [redisRoad, postgresRoad]) {
      road!.cut()
      this.#mend.push(() => road!.mend())
    }
  }

  /** A statement of the final reports fails as a bug would. */
  async breakReports(): Promise<void> {
    await this.cluster.sql('ALTER TABLE reconciliations RENAME TO reports_elsewhere')
    this.#mend.push(() => this.cluster.sql('ALTER TABLE reports_elsewhere RENAME TO reconciliations'))
  }

  // What comes from outside

  async guessTokens(): Promise<void> {
    for (let i = 0; i < 20; i++)
      await fetch(`${this.#parts.url()}/api/admin/sales`, { headers: { authorization: `Bearer wrong-${i}` } })
  }

  askForMadeUpSales(): void {
    let asked = 0
    this.#lasting(async () => {
      // Made a second ago, by a node that is none: such ids are looked up.
      const ids = Array.from({ length: MADE_UP_IDS }, () => String(BigInt(this.sale.id) - BigInt(++asked)))
      await Promise.all(ids.map(id => fetch(`${this.#parts.url()}/api/sales/${id}`).then(one => one.arrayBuffer())))
    })
  }

  async forgeCallbacks(): Promise<void> {
    const url = `${this.#parts.url()}/api/payments/stripe/callback`
    for (let i = 0; i < 30; i++)
      await fetch(url, { method: 'POST', body: '{}', headers: { 'stripe-signature': 't=1,v1=00' } })
  }

  /** The shop's endpoint answers with an error. */
  async failWebhooks(): Promise<void> {
    const { playground, url } = this.#parts
    const receiver = await openReceiver(playground, answer(500))
    const desk = new WebhookDesk(url)
    const { id } = await desk.create({ url: receiver.url(), types: ['stampede.order.placed'] })
    this.#mend.push(() => desk.delete(id))
  }

  // Money

  /** The provider does not answer, and a refund that was tried nine times waits for it. */
  async silenceProvider(): Promise<void> {
    const { stripe, till, cluster } = this.#parts
    const order = await this.#buy('dora', this.sale)
    await until('a payment', async () => (await till.payBy(order, { provider: 'stripe' })).status === 201)
    stripe.behave([], () => 'reset')
    this.#mend.push(() => stripe.behave([]))
    const next = await this.#buy('emil', this.sale)
    this.#lasting(async () => {
      await till.payBy(next, { provider: 'stripe' })
    })
    await cluster.sql(
      `UPDATE payments SET state = 'refund_due', tries = 9, why = 'late', next_try_at = now() WHERE order_id = ${order.id}`,
    )
    this.#mend.push(() => cluster.sql(`UPDATE payments SET state = 'void' WHERE order_id = ${order.id}`))
    this.#mend.push(async () => {
      stripe.behave([])
      await until('an answer', async () => (await till.payBy(next, { provider: 'stripe' })).status === 201)
    })
  }

  /** A refund is due at a provider that is not configured any more. */
  async loseProvider(): Promise<void> {
    const { till, cluster } = this.#parts
    const order = await this.#buy('fay', this.sale)
    await until('a payment', async () => (await till.payBy(order, { provider: 'stripe' })).status === 201)
    await cluster.sql(
      `UPDATE payments SET provider = 'formerpay', state = 'refund_due', why = 'late', next_try_at = now() WHERE order_id = ${order.id}`,
    )
    this.#mend.push(() => cluster.sql(`UPDATE payments SET state = 'void' WHERE order_id = ${order.id}`))
  }

  /** Was a click answered "busy", or not at all? */
  buyersWereSentAway(): boolean {
    return this.#parts.shop.told.some(({ answer: { kind } }) => kind === 'busy' || kind === 'unknown')
  }

  /** An order of the large item, placed or reserved. */
  buy(buyer: string): Promise<OrderAnswer> {
    return this.#buy(buyer, this.sale)
  }

  /** Buyers come and buy, all the time. */
  async #click(): Promise<void> {
    const { shop, sale } = this.#parts
    while (!this.#stop.signal.aborted) {
      const buyer = `buyer-${this.#buyers++}`
      await shop
        .ticket(buyer, sale.id, sale.items[0]!.id)
        .then(ticket => shop.order(ticket, 1))
        .catch(() => {})
      await systemClock.sleep(CLICK_EVERY_MS)
    }
  }

  /** More than are left: only the gate can say so. */
  async #refusedByGate(): Promise<void> {
    const { shop, sale } = this.#parts
    const ticket = await shop.ticket(`greedy-${this.#buyers++}`, sale.id, sale.items[1]!.id)
    await shop.order(ticket, 3)
  }

  async #buy(buyer: string, sale: ShopSale): Promise<OrderAnswer> {
    const { shop } = this.#parts
    const ticket = await shop.ticket(buyer, sale.id, sale.items[0]!.id)
    const { answer: told } = await until('an order', async () => {
      const one = await shop.order(ticket, 1)
      return 'order' in one.answer ? one : undefined
    })
    const { order } = told as { order: { id: string } }
    return { id: order.id, item: sale.items[0]!.id, buyer } as OrderAnswer
  }

  /** Again and again until it is mended. */
  #lasting(act: () => Promise<void>): void {
    let over = false
    const done = (async () => {
      while (!over && !this.#stop.signal.aborted) await act()
    })().catch(() => {})
    this.#mend.push(() => {
      over = true
      return done
    })
  }
}

interface Parts {
  readonly playground: Playground
  readonly cluster: Cluster
  readonly stripe: Awaited<ReturnType<typeof openLocalStripe>>
  readonly url: () => string
  readonly shop: Shop
  readonly till: Till
  readonly sale: ShopSale
  readonly monitor: AlertMonitor
}
