/**
 * Moves between the shards of a living item, one after the other: taken from one shard, given to another, now and then twice, and stopped
 * in between; then the next step goes on with the same move. A new epoch makes an open one void.
 */

import { deepStrictEqual } from 'node:assert/strict'
import type { Move } from './model-steps.ts'
import type { ModelSubject } from './model-subject.ts'
import type { ReferenceGate } from './reference-gate.ts'

export class ModelMoves {
  readonly #subject: ModelSubject
  readonly #model: ReferenceGate
  #epoch = 0
  #no = 0
  #to: number | undefined

  constructor(subject: ModelSubject, model: ReferenceGate) {
    this.#subject = subject
    this.#model = model
  }

  /** What became of it, for whoever counts. */
  async goOn({ from, to, units, stop, again }: Move): Promise<'given' | 'taken' | 'none taken' | 'no move'> {
    const now = this.#model.selling()
    if (now === undefined || now.lefts.length === 1) return 'no move'
    const [count, times] = [now.lefts.length, again ? 2 : 1]
    if (this.#epoch !== now.epoch) {
      this.#epoch = now.epoch
      this.#no = 0
      this.#to = undefined
    }
    if (this.#to === undefined) {
      const giver = from % count
      const taken = this.#model.take(giver, units)
      this.#no += 1
      this.#to = (giver + 1 + (to % (count - 1))) % count
      for (let i = 0; i < times; i++) await this.#half(giver, this.#no, -units, { status: 'done', taken: 0 - taken })
      if (stop) return taken > 0 ? 'taken' : 'none taken'
    }
    const { moving } = now
    this.#model.give(this.#to)
    for (let i = 0; i < times; i++) await this.#half(this.#to, this.#no, moving, { status: 'done', taken: moving })
    if (this.#no > 1) await this.#half(this.#to, this.#no - 1, 1, { status: 'past', changeNo: this.#no })
    this.#to = undefined
    return 'given'
  }

  async #half(shard: number, no: number, delta: number, right: object): Promise<void> {
    const { item, several } = this.#subject
    deepStrictEqual(await several!.shardGate.move(`${item}#${shard}`, this.#epoch, no, delta), right)
  }
}
