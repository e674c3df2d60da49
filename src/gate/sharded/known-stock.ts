/**
 * What is left of each item over all its shards, as far as this process knows from statuses and replies. Figures older than `freshMs` do
 * not count. They only say how many units other shards may have; each shard itself decides.
 * A reply does not tell of moves: a shard whose version has gone up by more than that reply explains may have given units away that are in
 * no shard now. Its figures do not count either until its next status.
 */

import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { ShardStatus } from '../gate.ts'
import { movingIn } from './sum-statuses.ts'

interface Known {
  readonly epoch: Epoch
  readonly shards: Figures[]
}

type Figures = Pick<ShardStatus, 'version' | 'left' | 'moveNo' | 'moved'> & { askedAtMs: number; unexplained: boolean }

const UNKNOWN: Figures = {
  version: 0,
  left: 0,
  moveNo: 0,
  moved: 0,
  askedAtMs: Number.NEGATIVE_INFINITY,
  unexplained: true,
}

export class KnownStock {
  readonly #freshMs: number
  readonly #wanted: (item: ItemId) => boolean
  readonly #items = new Map<ItemId, Known>()

  /** @param wanted items that are not are forgotten */
  constructor(freshMs: number, wanted: (item: ItemId) => boolean) {
    this.#freshMs = freshMs
    this.#wanted = wanted
  }

  seen(item: ItemId, epoch: Epoch, shards: readonly ShardStatus[], askedAtMs: number): void {
    const known = this.#of(item, epoch, shards.length)
    for (const [i, { version, left, moveNo, moved }] of shards.entries()) {
      const before = known?.shards[i]
      if (known === undefined || before === undefined || before.version > version) continue
      const lastAskedAtMs = Math.max(askedAtMs, before.askedAtMs)
      known.shards[i] = { version, left, moveNo, moved, askedAtMs: lastAskedAtMs, unexplained: false }
    }
  }

  /** One shard has answered. */
  replied(
    item: ItemId,
    epoch: Epoch,
    count: number,
    shard: number,
    now: { version: number; left: number; askedAtMs: number; took: boolean },
  ): void {
    const known = this.#of(item, epoch, count)
    const before = known?.shards[shard]
    if (known === undefined || before === undefined || before.version > now.version) return
    const { version, left, took } = now
    const unexplained = before.unexplained || version > before.version + (took ? 1 : 0)
    const askedAtMs = Math.max(now.askedAtMs, before.askedAtMs)
    known.shards[shard] = { ...before, version, left, askedAtMs, unexplained }
  }

  /** Units that are moving between two shards count as left. */
  total(
    item: ItemId,
    epoch: Epoch,
    nowMs: number,
  ): { readonly version: number; readonly left: number; readonly fresh: boolean } {
    const known = this.#items.get(item)
    if (known?.epoch !== epoch) return { version: 0, left: 0, fresh: false }
    let version = 0
    let left = movingIn(known.shards)
    let askedAtMs = nowMs
    for (const shard of known.shards) {
      version += shard.version
      left += shard.left
      askedAtMs = Math.min(askedAtMs, shard.unexplained ? Number.NEGATIVE_INFINITY : shard.askedAtMs)
    }
    return { version, left, fresh: nowMs - askedAtMs <= this.#freshMs }
  }

  /** Undefined: a higher epoch is known. */
  #of(item: ItemId, epoch: Epoch, count: number): Known | undefined {
    const known = this.#items.get(item)
    if (known !== undefined && known.epoch >= epoch) return known.epoch === epoch ? known : undefined
    if (known === undefined) for (const other of this.#items.keys()) if (!this.#wanted(other)) this.#items.delete(other)
    const begun = { epoch, shards: new Array<Figures>(count).fill(UNKNOWN) }
    this.#items.set(item, begun)
    return begun
  }
}
