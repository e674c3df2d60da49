/** What simulated buyers share: chance, limits, the server's address, and ways to send, to act later and to record. The crowd provides it. */

import type { Random } from '../../base/random.ts'
import type { ToldOrder } from '../../domain/promises/snapshot.ts'
import type { Answer } from '../client/connection.ts'
import type { Requests } from '../client/requests.ts'
import type { Mix } from '../plan/mix.ts'
import type { TimeLimits } from '../time-limits.ts'
import type { Tally } from './tally.ts'

export type Answered = (answer: Answer, sentMs: number, nowMs: number) => void

export interface CrowdContext {
  readonly random: Random
  readonly mix: Mix
  readonly limits: TimeLimits
  readonly requests: Requests
  readonly tokens: readonly string[]
  readonly tally: Tally
  /** Milliseconds from the opening. */
  readonly nowMs: () => number
  readonly send: (bytes: Buffer, answered: Answered, lost: () => void) => void
  readonly later: (afterMs: number, act: () => void) => void
  /** Records what the server said about an order, for the promises. */
  readonly record: (buyer: number, order: ToldOrder, sentMs: number, nowMs: number) => void
}
