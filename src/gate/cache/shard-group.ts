/**
 * The shards of one item, as one status: their sum, computed when it is asked for and something was fed since. Shown only while every
 * shard has a status of the same epoch, and as old as the oldest of them; and "nothing left" only while no shard may have given units to
 * another that has not shown them yet. State and window are those of the item's newest status: they are the same in all shards, and have no
 * version of their own.
 */

import type { GateStatus } from '../gate.ts'
import { movingIn } from '../sharded/sum-statuses.ts'
import type { ShardCache } from './shard-cache.ts'

export class ShardGroup {
  readonly shards: readonly ShardCache[]
  #newest: GateStatus
  #newestAskedAtMs: number
  #sum: { readonly status: GateStatus; readonly askedAtMs: number } | undefined
  #fed = true

  constructor(status: GateStatus, askedAtMs: number, shards: readonly ShardCache[]) {
    this.shards = shards
    this.#newest = status
    this.#newestAskedAtMs = askedAtMs
  }

  seen(status: GateStatus, askedAtMs: number): void {
    this.#fed = true
    const { epoch } = this.#newest
    if (status.epoch < epoch || (status.epoch === epoch && askedAtMs < this.#newestAskedAtMs)) return
    this.#newest = status
    this.#newestAskedAtMs = askedAtMs
  }

  fed(): void {
    this.#fed = true
  }

  status(nowMs: number, freshMs: number): GateStatus | undefined {
    if (this.#fed) {
      this.#sum = this.#add()
      this.#fed = false
    }
    return this.#sum !== undefined && nowMs - this.#sum.askedAtMs <= freshMs ? this.#sum.status : undefined
  }

  #add(): { readonly status: GateStatus; readonly askedAtMs: number } | undefined {
    const { item, epoch, stateNo, state, opensAtMs, closesAtMs, changeNo } = this.#newest
    let [version, left, held, buyers, askedAtMs] = [0, 0, 0, 0, Number.POSITIVE_INFINITY]
    const moves: { moveNo: number; moved: number }[] = []
    for (const shard of this.shards) {
      const { newest } = shard
      if (newest?.epoch !== epoch) return undefined
      version += newest.version
      left += newest.left
      held += newest.held
      buyers += newest.buyers
      askedAtMs = Math.min(askedAtMs, shard.askedAtMs)
      if (newest.shards?.[0] !== undefined) moves.push(newest.shards[0])
    }
    left += movingIn(moves)
    if (left === 0 && this.shards.some(shard => shard.unexplained)) return undefined
    const sums = { version, left, held, buyers, changeNo }
    return { status: { item, epoch, ...sums, stateNo, state, opensAtMs, closesAtMs }, askedAtMs }
  }
}
