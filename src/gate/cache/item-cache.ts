/**
 * What is known of one item at the gate without asking: of each shard its figures, and which buyers have a reservation there. Together they
 * are one status, computed when it is asked for and something was fed since. It is shown only while every shard has figures of the same epoch,
 * and as old as the oldest of them; and "nothing left" of several shards only while none may have given units to another that has not
 * shown them yet. State and window are those of the item's newest status: they are the same in all shards, and have no version of their own.
 */

import type { BuyerId, Epoch } from '../../domain/ids.ts'
import type { GateStatus } from '../gate.ts'
import { type ShardId, shardOf } from '../shard-ids.ts'
import { KnownShard, sumKnown } from '../sharded/known-shard.ts'
import type { BuyerFilter } from './buyer-filter.ts'

interface ShardCache {
  readonly filter: BuyerFilter
  readonly known: KnownShard
}

export class ItemCache {
  /** Or one, named like the item. */
  readonly several: boolean
  /** The newest that was heard of. */
  epoch: Epoch
  readonly shards = new Map<ShardId, ShardCache>()
  /** Its status was asked for since this was last set to false. */
  asked = false
  readonly #begin: (epoch: Epoch) => BuyerFilter
  /** In the order of their numbers, once a status has shown how many there are. */
  #all: readonly ShardCache[] = []
  #newest: { readonly status: GateStatus; readonly askedAtMs: number } | undefined
  #shown: { readonly status: GateStatus | undefined; readonly askedAtMs: number } | undefined

  /** @param begin an empty filter */
  constructor(several: boolean, epoch: Epoch, begin: (epoch: Epoch) => BuyerFilter) {
    this.several = several
    this.epoch = epoch
    this.#begin = begin
  }

  /** All shards: one that was not heard of yet must not go on saying no, because the item may have had other shards meanwhile. */
  advance(epoch: Epoch, nowMs: number): void {
    this.epoch = epoch
    this.#newest = undefined
    this.#shown = undefined
    for (const { filter } of this.shards.values()) filter.advance(epoch, nowMs)
  }

  /** A status of this epoch. */
  seen(status: GateStatus, askedAtMs: number, nowMs: number): void {
    const { item, epoch, shards = [{ ...status, shard: item, moveNo: 0, moved: 0 }] } = status
    this.#all = shards.map(figures => {
      const shard = this.#shardOf(figures.shard)
      shard.known.seen(epoch, figures, askedAtMs)
      shard.filter.count(figures.version, figures.buyers, askedAtMs, nowMs)
      return shard
    })
    if (this.#newest === undefined || askedAtMs >= this.#newest.askedAtMs) this.#newest = { status, askedAtMs }
    this.#shown = undefined
  }

  reserved(id: ShardId, epoch: Epoch, stock: { version: number; left: number }, hashes: readonly number[]): void {
    // An old message about an unknown shard: a filter that began with it would call complete what was over long ago.
    if (epoch < this.epoch && !this.shards.has(id)) return
    const { filter, known } = this.#shardOf(id)
    filter.add(hashes, epoch, stock.version)
    known.replied(epoch, stock, hashes.length > 0)
    this.#shown = undefined
  }

  status(nowMs: number, freshMs: number): GateStatus | undefined {
    this.#shown ??= this.#sum()
    return nowMs - this.#shown.askedAtMs <= freshMs ? this.#shown.status : undefined
  }

  /** However old. */
  newest(): GateStatus | undefined {
    this.#shown ??= this.#sum()
    return this.#shown.status
  }

  filterOf(buyer: BuyerId): BuyerFilter | undefined {
    const all = this.#all
    return all[all.length > 1 ? shardOf(buyer, all.length) : 0]?.filter
  }

  #shardOf(id: ShardId): ShardCache {
    let shard = this.shards.get(id)
    if (shard === undefined) {
      shard = { filter: this.#begin(this.epoch), known: new KnownShard() }
      this.shards.set(id, shard)
    }
    return shard
  }

  #sum(): { readonly status: GateStatus | undefined; readonly askedAtMs: number } {
    if (this.#newest === undefined) return { status: undefined, askedAtMs: Number.NEGATIVE_INFINITY }
    const { item, epoch, stateNo, state, opensAtMs, closesAtMs, changeNo } = this.#newest.status
    const all = this.#all.map(({ known }) => known)
    const { askedAtMs, unexplained, ...sums } = sumKnown(all, epoch)
    if (this.several && sums.left === 0 && unexplained) return { status: undefined, askedAtMs }
    return { status: { item, epoch, ...sums, stateNo, state, opensAtMs, closesAtMs, changeNo }, askedAtMs }
  }
}
