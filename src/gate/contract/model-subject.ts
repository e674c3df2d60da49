/** What an adapter brings to the random lives: an item that nobody has used, and what can be done to it beside the gate's own verbs. */

import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Gate } from '../gate.ts'
import type { LocalView } from '../local-view.ts'
import type { Mover } from '../mover.ts'

export interface ModelSubject {
  readonly item: ItemId
  readonly gate: Gate
  /** Where the units can be in several places. */
  readonly several?: {
    readonly count: number
    readonly mover: Mover
    /** The epoch has so many places: before anything is asked of it. */
    learn(epoch: Epoch, places: number): void
  }
  /** Stands until it is moved; or it runs, and is moved by hours. */
  readonly clock: 'stands' | 'runs'
  readonly nowMs: number
  moveClock(ms: number): void
  /** A gate in the process. */
  readonly near?: LocalView
}
