/**
 * What is left of each item over all its places, as far as this process knows: from its looks and from the replies it got. Older than
 * `freshMs` it is not known any more. Only says how much may be had elsewhere; what is really there, each place judges itself.
 * A reply does not tell of moves: a place whose version has gone on by more than that reply explains may have given units away that are in
 * no place now, and until it is looked at again it is not known either.
 */

import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { ShardStatus } from '../gate.ts'
import { movingIn } from './sum-statuses.ts'

interface Known {
  readonly epoch: Epoch
  readonly places: Figures[]
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

  looked(item: ItemId, epoch: Epoch, places: readonly ShardStatus[], askedAtMs: number): void {
    const known = this.#of(item, epoch, places.length)
    for (const [i, { version, left, moveNo, moved }] of places.entries()) {
      const before = known?.places[i]
      if (known === undefined || before === undefined || before.version > version) continue
      const lastAskedAtMs = Math.max(askedAtMs, before.askedAtMs)
      known.places[i] = { version, left, moveNo, moved, askedAtMs: lastAskedAtMs, unexplained: false }
    }
  }

  /** One place has answered. */
  replied(
    item: ItemId,
    epoch: Epoch,
    of: number,
    shard: number,
    now: { version: number; left: number; askedAtMs: number; took: boolean },
  ): void {
    const known = this.#of(item, epoch, of)
    const before = known?.places[shard]
    if (known === undefined || before === undefined || before.version > now.version) return
    const { version, left, took } = now
    const unexplained = before.unexplained || version > before.version + (took ? 1 : 0)
    const askedAtMs = Math.max(now.askedAtMs, before.askedAtMs)
    known.places[shard] = { ...before, version, left, askedAtMs, unexplained }
  }

  /** Units that are under way between two places count as left. */
  total(
    item: ItemId,
    epoch: Epoch,
    nowMs: number,
  ): { readonly version: number; readonly left: number; readonly fresh: boolean } {
    const known = this.#items.get(item)
    if (known?.epoch !== epoch) return { version: 0, left: 0, fresh: false }
    let version = 0
    let left = movingIn(known.places)
    let askedAtMs = nowMs
    for (const place of known.places) {
      version += place.version
      left += place.left
      askedAtMs = Math.min(askedAtMs, place.unexplained ? Number.NEGATIVE_INFINITY : place.askedAtMs)
    }
    return { version, left, fresh: nowMs - askedAtMs <= this.#freshMs }
  }

  /** Undefined: a higher epoch is known. */
  #of(item: ItemId, epoch: Epoch, places: number): Known | undefined {
    const known = this.#items.get(item)
    if (known !== undefined && known.epoch >= epoch) return known.epoch === epoch ? known : undefined
    if (known === undefined) for (const other of this.#items.keys()) if (!this.#wanted(other)) this.#items.delete(other)
    const begun = { epoch, places: new Array<Figures>(places).fill(UNKNOWN) }
    this.#items.set(item, begun)
    return begun
  }
}
