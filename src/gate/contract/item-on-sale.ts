/** What the cases of the gate's suite share: the gate they attack, and one item on sale with short words for asking. */

import { expect } from 'bun:test'
import { assert } from '../../base/assert.ts'
import { systemRandom } from '../../base/random.ts'
import type { BuyerId, Epoch, ItemId, OrderId } from '../../domain/ids.ts'
import type { Ask, AskAnswer, AskCode, Gate, GateStatus, Holding, Release, ReserveReply, Terms } from '../gate.ts'

/** What an adapter brings to the suite. */
export interface GateUnderTest {
  readonly gate: Gate
  /** Resolves when the gate's clock shows at least `nowMs`: moves a clock that can be moved, waits for one that can't. */
  untilClock(nowMs: number): Promise<void>
  /**
   * Where the units of an item are in several shards, what is promised between buyers is promised in each shard: buyers named like these,
   * who share one. Without it all of them do.
   */
  together?(item: ItemId, buyers: readonly BuyerId[]): readonly BuyerId[]
  close(): Promise<void>
}

export interface Bench {
  readonly names: ItemNames
  gate(): Gate
  untilClock(nowMs: number): Promise<void>
  together(item: ItemId, buyers: readonly BuyerId[]): readonly BuyerId[]
}

/** Items nobody used before, in this run or an earlier one. */
export class ItemNames {
  readonly #base = Buffer.from(systemRandom.bytes(6)).readUIntBE(0, 6) + 1
  #count = 0

  next(): ItemId {
    this.#count += 1
    return `${this.#base}${String(this.#count).padStart(4, '0')}`
  }
}

export const HOUR_MS = 3_600_000

type Decided = Extract<ReserveReply, { readonly answers: unknown }>

export function decided(reply: ReserveReply): Decided {
  assert('answers' in reply, `the gate answered ${reply.status}`)
  return reply
}

export class ItemOnSale {
  readonly gate: Gate
  readonly item: ItemId
  readonly terms: Terms
  epoch: Epoch = 1
  readonly #bench: Bench
  #orders = 0

  private constructor(bench: Bench, gate: Gate, item: ItemId, terms: Terms) {
    this.#bench = bench
    this.gate = gate
    this.item = item
    this.terms = terms
  }

  /** An item that nobody sells yet, with a window that is open now. */
  static async unopened(
    bench: Bench,
    terms: Partial<Terms> & { readonly left: number },
    gate = bench.gate(),
  ): Promise<ItemOnSale> {
    const { nowMs } = await gate.status([])
    return new ItemOnSale(bench, gate, bench.names.next(), {
      held: 0,
      buyers: 0,
      attemptsMax: 3,
      changeNo: 0,
      stateNo: 0,
      state: 'open',
      opensAtMs: nowMs - HOUR_MS,
      closesAtMs: nowMs + HOUR_MS,
      ...terms,
    })
  }

  static async open(bench: Bench, terms: Partial<Terms> & { readonly left: number }): Promise<ItemOnSale> {
    const sale = await ItemOnSale.unopened(bench, terms)
    expect(await sale.gate.activate(sale.item, sale.epoch, sale.terms)).toEqual({ status: 'done' })
    return sale
  }

  /** Buyers between whom everything is promised that is promised between buyers at all. */
  together<const Names extends readonly string[]>(...names: Names): { readonly [K in keyof Names]: BuyerId } {
    return this.#bench.together(this.item, names) as { readonly [K in keyof Names]: BuyerId }
  }

  /** An order id nobody used before for this item, beyond what a double can hold. */
  order(): OrderId {
    this.#orders += 1
    return String(9_007_199_254_740_993n + BigInt(this.#orders))
  }

  ask(buyer: string, wish: Partial<Ask> = {}): Ask {
    return { order: this.order(), buyer, attempt: 1, quantity: 1, askedAtMs: this.terms.opensAtMs, ...wish }
  }

  async reserve(...asks: Ask[]): Promise<Decided> {
    return decided(await this.gate.reserve(this.item, this.epoch, asks))
  }

  async answer(ask: Ask): Promise<AskAnswer> {
    const reply = await this.reserve(ask)
    expect(reply.answers).toHaveLength(1)
    return reply.answers[0]!
  }

  async codes(...asks: Ask[]): Promise<AskCode[]> {
    return (await this.reserve(...asks)).answers.map(answer => answer.code)
  }

  async release(ask: Ask, outcome: Release['outcome'], other: Partial<Release> = {}): Promise<void> {
    const release = { order: ask.order, buyer: ask.buyer, attempt: ask.attempt, outcome, ...other }
    expect(await this.gate.release(this.item, this.epoch, [release])).toEqual({ status: 'done' })
  }

  async gateStatus(): Promise<GateStatus> {
    const { items } = await this.gate.status([this.item])
    assert(items.length === 1, `item ${this.item} is not active`)
    return items[0]!
  }

  async counts(): Promise<{ left: number; held: number; buyers: number }> {
    const { left, held, buyers } = await this.gateStatus()
    return { left, held, buyers }
  }

  async holdings(buyer: string): Promise<readonly Holding[]> {
    const found = await this.gate.find(this.item, buyer)
    assert(found.status === 'ok', `the gate answered ${found.status}`)
    return found.holdings
  }
}

/** The same wish as the ledger's snapshot would show it. */
export function held(ask: Ask, live = true): Holding {
  const { order, buyer, attempt, quantity, askedAtMs } = ask
  return { order, buyer, attempt, quantity, live, reservedAtMs: askedAtMs }
}
