/**
 * The stage of every cluster test: a sale that is open, buyers who hold their tickets and do not give up, and the judgement at the end.
 * However often the parts died in between: every promise holds, everybody who asks again hears of the very order that stands in the
 * ledger, and every unit is in an order or on sale.
 */

import { expect } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import type { Told } from '../../src/domain/promises/snapshot.ts'
import type { Cluster } from '../harness/cluster.ts'
import { atMost } from '../harness/crowd.ts'
import { gatherFacts } from '../harness/facts.ts'
import { Shop, type ShopSale, type Ticket } from '../harness/shop.ts'
import { until } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'

/** The longer there is no word that counts, the rarer a buyer asks: an outage is no reason to keep two cores busy. */
const ASK_AGAIN_MS = 50
const ASK_AGAIN_MS_MAX = 400
/** A page gives up and asks again. */
export const HANG_UP_MS = 8_000
/** Longer than any fence, lease and rebuild together. */
const PATIENCE_MS = 150_000

interface StageOptions {
  readonly units: number
  readonly buyers: number
  readonly atATime?: number
  readonly quantityMax?: number
  readonly attemptsMax?: number
  readonly payWithinSeconds?: number
  readonly door?: 'gate' | 'ledger'
  readonly whenGateDown?: 'ledger' | 'shut'
  readonly shards?: number
  /** What the buyers are called, where that matters: their names decide which place they meet. */
  readonly names?: readonly string[]
}

export class Stage {
  readonly cluster: Cluster
  readonly shop: Shop
  readonly sale: ShopSale
  readonly tickets: readonly Ticket[]
  readonly #begunMs: number
  readonly #atATime: number
  readonly #quantityMax: number

  private constructor(cluster: Cluster, shop: Shop, sale: ShopSale, tickets: readonly Ticket[], options: StageOptions) {
    this.cluster = cluster
    this.shop = shop
    this.sale = sale
    this.tickets = tickets
    this.#begunMs = systemClock.elapsed()
    this.#atATime = options.atATime ?? 16
    this.#quantityMax = options.quantityMax ?? 1
  }

  static async set(cluster: Cluster, options: StageOptions): Promise<Stage> {
    const { units, buyers, atATime = 16, quantityMax = 1, attemptsMax = 3, payWithinSeconds = 900 } = options
    const { door = 'gate', whenGateDown = 'ledger', shards = 1 } = options
    const shop = new Shop(() => cluster.url())
    const sale = await shop.openSale(-1_000, [
      { units, quantityMax, attemptsMax, payWithinSeconds, door, whenGateDown, shards },
    ])
    const item = sale.items[0]?.id ?? ''
    const names = options.names ?? Array.from({ length: buyers }, (_, i) => `buyer-${i}`)
    const tickets = await atMost(atATime, names, name => patiently(() => shop.ticket(name, sale.id, item)))
    return new Stage(cluster, shop, sale, tickets, options)
  }

  get item(): string {
    return this.sale.items[0]?.id ?? ''
  }

  /** Everybody buys, a few at a time, and does not give up because a part has gone away. */
  everybodyBuys(tickets: readonly Ticket[] = this.tickets): Promise<Told[]> {
    return atMost(this.#atATime, tickets, (ticket, i) => this.persist(ticket, 1 + (i % this.#quantityMax)))
  }

  /** A buyer who asks with the same ticket until there is a word that counts. */
  async persist(ticket: Ticket, quantity = 1): Promise<Told> {
    const untilMs = systemClock.elapsed() + PATIENCE_MS
    for (let waitMs = ASK_AGAIN_MS; ; waitMs = Math.min(ASK_AGAIN_MS_MAX, waitMs * 1.5)) {
      const told = await this.shop.order(ticket, quantity, AbortSignal.timeout(HANG_UP_MS))
      const { kind } = told.answer
      if (kind !== 'unknown' && kind !== 'busy' && kind !== 'early') return told
      if (systemClock.elapsed() > untilMs) throw new Error(`${ticket.buyer} has asked for ${PATIENCE_MS} ms in vain`)
      await systemClock.sleep(waitMs)
    }
  }

  /** Every order has ended unpaid and every unit is on sale again, in the ledger and at the gate, once. */
  async allUnsold(): Promise<void> {
    const units = this.sale.items[0]?.units
    await until(
      'every unit on sale again',
      async () => {
        const [line] = await this.shop.audit(this.sale.id).catch(() => [])
        if (line === undefined || line.gate === null) return false
        return line.available === units && line.gate.left === units && line.gate.held === 0 && line.consistent
      },
      PATIENCE_MS,
    )
    const edge = this.cluster.edges().find(one => one.running())
    if (edge === undefined) throw new Error('no edge is left to ask')
    assertPromises(await gatherFacts(this.shop, this.sale, edge.server()), this.#begunMs)
  }

  /** Returns the epoch under which the gate has the item, once it does. */
  async soldAtTheGate(limitMs: number): Promise<number> {
    const line = await until(
      'the item at the gate',
      async () =>
        (await this.shop.audit(this.sale.id).catch(() => [])).find(one => one.door === 'gate' && one.gate !== null),
      limitMs,
    )
    return line.epoch
  }

  /**
   * All is quiet: everybody asks again, and whoever has an order is given that very order. `refusedMax`: how many of those who were told
   * "reserved" may have been refused explicitly, which only what `docs/durability.md` names can do.
   */
  async judge(outcomes: readonly Told[], options: { readonly soldOut?: boolean; readonly refusedMax?: number } = {}) {
    const { soldOut = true, refusedMax = 0 } = options
    const { cluster, shop, sale, tickets } = this
    await cluster.quiet(shop, sale)
    const again = await this.everybodyBuys()
    await cluster.quiet(shop, sale)
    const edge = cluster.edges().find(one => one.running())
    if (edge === undefined) throw new Error('no edge is left to ask')
    const facts = await gatherFacts(shop, sale, edge.server())
    assertPromises(facts, this.#begunMs)

    const standing = (facts.orders ?? []).filter(order => order.reason !== 'refused')
    const rows = new Map(standing.map(order => [order.buyer, order.id]))
    const heard = again.map(told => [told.buyer, 'order' in told.answer ? told.answer.order.id : told.answer.kind])
    expect(heard).toEqual(tickets.map(({ buyer }) => [buyer, rows.get(buyer) ?? 'sold_out']))
    const refused = outcomes.filter(told => 'order' in told.answer && rows.get(told.buyer) !== told.answer.order.id)
    expect(refused.length, 'acknowledged and then refused').toBeLessThanOrEqual(refusedMax)
    if (soldOut) expect(facts.items.map(item => item.available)).toEqual([0])
    return facts
  }
}

/** Until the answer is neither lost nor "busy". */
async function patiently<T>(act: () => Promise<T>): Promise<T> {
  const untilMs = systemClock.elapsed() + PATIENCE_MS
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (systemClock.elapsed() > untilMs) throw error
      await systemClock.sleep(ASK_AGAIN_MS)
    }
  }
}
