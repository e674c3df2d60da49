/**
 * What a process knows of one shard from statuses and replies, under the newest epoch it has heard of, and what several of them add up to.
 * The figures only say how many units there may be; each shard itself decides.
 * A reply does not tell of moves: a shard whose version has gone up by more than that reply explains may have given units away that are in
 * no shard now. Until its next status it counts as unexplained.
 */

import type { Epoch } from '../../domain/ids.ts'
import type { ShardStatus } from '../gate.ts'
import { movingIn, sumFigures } from './several-as-one.ts'

type Figures = Pick<ShardStatus, 'version' | 'left' | 'held' | 'buyers' | 'moveNo' | 'moved'>

const NOTHING: Figures = { version: 0, left: 0, held: 0, buyers: 0, moveNo: 0, moved: 0 }

export class KnownShard {
  epoch: Epoch = -1
  figures: Figures = NOTHING
  /** When the newest answer about it was asked for (monotonic, ms). */
  askedAtMs = Number.NEGATIVE_INFINITY
  unexplained = true

  seen(epoch: Epoch, figures: Figures, askedAtMs: number): void {
    if (!this.#isUnder(epoch)) return
    this.askedAtMs = Math.max(this.askedAtMs, askedAtMs)
    if (figures.version < this.figures.version) return
    this.figures = figures
    this.unexplained = false
  }

  /** @param took the reply is to a batch that took units: it explains one version */
  replied(epoch: Epoch, { version, left }: Pick<Figures, 'version' | 'left'>, took: boolean, askedAtMs?: number): void {
    const known = this.#isUnder(epoch) ? this.figures : undefined
    if (known === undefined || version < known.version) return
    if (askedAtMs !== undefined) this.askedAtMs = Math.max(this.askedAtMs, askedAtMs)
    this.unexplained ||= version > known.version + (took ? 1 : 0)
    // What is not left any more is held; a change of the stock itself shows with the next status.
    if (version > known.version)
      this.figures = { ...known, version, left, held: Math.max(0, known.held + known.left - left) }
  }

  #isUnder(epoch: Epoch): boolean {
    if (epoch > this.epoch) {
      this.epoch = epoch
      this.figures = NOTHING
      this.askedAtMs = Number.NEGATIVE_INFINITY
      this.unexplained = true
    }
    return epoch === this.epoch
  }
}

const UNKNOWN = new KnownShard()

/** As old as the oldest of them, and unexplained if one of them is. Units that are moving between two shards count as left. */
export function sumKnown(shards: readonly KnownShard[], epoch: Epoch) {
  const known = shards.map(shard => (shard.epoch === epoch ? shard : UNKNOWN))
  const figures = known.map(shard => shard.figures)
  const sums = sumFigures(figures)
  return {
    ...sums,
    left: sums.left + movingIn(figures),
    askedAtMs: Math.min(...known.map(shard => shard.askedAtMs)),
    unexplained: known.some(shard => shard.unexplained),
  }
}
