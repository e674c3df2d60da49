/** A sale with money in it, on a site that dies and comes back: what the tests of pay, close, release, refund and stock share. */

import { expect } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { gatherFacts } from './facts.ts'
import { payUrlOf, Till, type WholeOrder } from './money.ts'
import { balanceMoney, untilSettled } from './money-books.ts'
import type { Playground } from './playground.ts'
import { Shop, type ShopSale, type WireOrder } from './shop.ts'
import { Site } from './site.ts'
import { until, within } from './until.ts'
import { assertPromises } from './verdict.ts'

const SOON_MS = 120_000

export class MoneyStage {
  readonly site: Site
  readonly shop: Shop
  readonly till: Till
  readonly sale: ShopSale
  readonly #begunMs = systemClock.elapsed()
  #buyers = 0

  private constructor(site: Site, shop: Shop, till: Till, sale: ShopSale) {
    this.site = site
    this.shop = shop
    this.till = till
    this.sale = sale
  }

  static async set(
    playground: Playground,
    item: { readonly units: number; readonly payWithinSeconds: number },
    env: Readonly<Record<string, string>> = {},
  ): Promise<MoneyStage> {
    const site = await Site.start(playground, { dataDir: playground.dataDir(), env })
    const shop = new Shop(() => site.url())
    return new MoneyStage(site, shop, new Till(() => site.url()), await shop.openSale(-1_000, [item]))
  }

  get item(): string {
    return this.sale.items[0]?.id ?? ''
  }

  get dataDir(): string {
    return this.site.server().dataDir
  }

  /** A buyer nobody has seen before gets an order. */
  async order(): Promise<WireOrder> {
    this.#buyers += 1
    const buyer = `buyer-${this.#buyers}`
    const ticket = await this.shop.ticket(buyer, this.sale.id, this.item)
    // A busy machine may say so; then what was asked first may have been placed meanwhile.
    const answer = await until('a word that counts', async () => {
      const told = await this.shop.order(ticket, 1)
      return told.answer.kind === 'busy' ? undefined : told.answer
    })
    if (answer.kind !== 'placed' && answer.kind !== 'same') throw new Error(`${buyer} was told ${answer.kind}`)
    return { id: answer.order.id, buyer } as WireOrder
  }

  /** An order, and the address where it is paid. */
  async billed(): Promise<{ readonly order: WireOrder; readonly payUrl: string }> {
    const order = await this.order()
    return { order, payUrl: payUrlOf(await this.till.pay(order)) }
  }

  async paid(): Promise<WireOrder> {
    const { order, payUrl } = await this.billed()
    expect((await this.till.decide(payUrl, 'approve')).status).toBe(200)
    await this.untilState(order, 'paid')
    return order
  }

  untilState(order: WireOrder, state: string): Promise<WholeOrder> {
    return until(`order ${order.id} ${state}`, async () => {
      const whole = await this.till.order(order.id)
      return (whole.reason ?? whole.state) === state ? whole : undefined
    })
  }

  /** Starts the server anew with this fault point armed; `act` makes it pass there, and the server dies of it. Then it is back, unarmed. */
  async dieAt(faultPoint: string, act: () => Promise<unknown>, whileDead = async () => {}): Promise<void> {
    // What is still under way would make it die too early.
    await untilSettled(this.dataDir)
    await this.site.server().kill()
    await this.site.startAgain(faultPoint)
    // Whoever is in the middle of a call when it dies hears nothing.
    const acting = act().catch(() => {})
    const exit = await within(`the death at ${faultPoint}`, SOON_MS, this.site.server().exited)
    expect(exit, faultPoint).toEqual({ code: null, signal: 'SIGKILL' })
    await acting
    await whileDead()
    await this.site.startAgain('')
  }

  /** Nothing is stuck, nothing happened twice: orders, units and money, on both sides. */
  async judge(units: number): Promise<void> {
    await untilSettled(this.dataDir)
    const payments = await balanceMoney(this.shop, this.till, this.sale.id, this.dataDir)
    const facts = await gatherFacts(this.shop, this.sale, this.site.server())
    assertPromises({ ...facts, payments }, this.#begunMs)
    expect(facts.items.map(item => item.units)).toEqual([units])
    expect((await this.shop.audit(this.sale.id)).every(line => line.consistent)).toBe(true)
    expect(await this.till.reconcile(this.sale.id)).toEqual({ differences: [], repairs: [] })
  }
}
