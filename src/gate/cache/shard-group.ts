/**
 * The places of one item in several, as one look: their sum, made when it is asked for and something was fed since. Shown only while every
 * place has a look of the same epoch, and as old as the oldest of them; and "nothing left" only while no place may have given units to
 * another that was not heard of yet. State and window are those of the item's newest look: they are told to all places alike, and have no
 * version of their own.
 */

import type { GateStatus } from '../gate.ts'
import { movingIn } from '../sharded/sum-statuses.ts'
import type { ShardCache } from './shard-cache.ts'

export class ShardGroup {
  readonly places: readonly ShardCache[]
  #terms: GateStatus
  #termsAskedAtMs: number
  #sum: { readonly look: GateStatus; readonly askedAtMs: number } | undefined
  #fed = true

  constructor(look: GateStatus, askedAtMs: number, places: readonly ShardCache[]) {
    this.places = places
    this.#terms = look
    this.#termsAskedAtMs = askedAtMs
  }

  seen(look: GateStatus, askedAtMs: number): void {
    this.#fed = true
    if (look.epoch < this.#terms.epoch || (look.epoch === this.#terms.epoch && askedAtMs < this.#termsAskedAtMs)) return
    this.#terms = look
    this.#termsAskedAtMs = askedAtMs
  }

  fed(): void {
    this.#fed = true
  }

  look(nowMs: number, freshMs: number): GateStatus | undefined {
    if (this.#fed) {
      this.#sum = this.#add()
      this.#fed = false
    }
    return this.#sum !== undefined && nowMs - this.#sum.askedAtMs <= freshMs ? this.#sum.look : undefined
  }

  #add(): { readonly look: GateStatus; readonly askedAtMs: number } | undefined {
    const { item, epoch, stateNo, state, opensAtMs, closesAtMs, changeNo } = this.#terms
    let [version, left, held, buyers, askedAtMs] = [0, 0, 0, 0, Number.POSITIVE_INFINITY]
    const moves: { moveNo: number; moved: number }[] = []
    for (const place of this.places) {
      const look = place.newest
      if (look?.epoch !== epoch) return undefined
      version += look.version
      left += look.left
      held += look.held
      buyers += look.buyers
      askedAtMs = Math.min(askedAtMs, place.askedAtMs)
      if (look.places?.[0] !== undefined) moves.push(look.places[0])
    }
    left += movingIn(moves)
    if (left === 0 && this.places.some(place => place.unexplained)) return undefined
    const word = { stateNo, state, opensAtMs, closesAtMs }
    return { look: { item, epoch, version, left, held, buyers, ...word, changeNo }, askedAtMs }
  }
}
