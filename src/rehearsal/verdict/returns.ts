/**
 * How long units that came back were seen waiting to be on sale again, over all looks at the books while nobody asked for anything.
 * Never more than it really was: from the answer that first showed some to the last question that still did. More of them than before
 * are new ones, and then nobody knows which of them is old: the count begins anew.
 */

import type { WireAudit } from '../stage/stage.ts'

/** Promise 3, and the room that a machine gets which the crowd has just been over. */
export const BACK_MS_MAX = 2_000
export const BACK_MS_ROOM = 5 * BACK_MS_MAX

export class Returns {
  #sinceMs: number | undefined
  /** Since when every look has shown some. */
  #someSinceMs: number | undefined
  #before = 0
  /** The longest that any was seen on its way. */
  longestMs = 0
  /** For how long there had always been some on their way, at the last look; 0 when it showed none. They may have been others. */
  openMs = 0
  /** The gate was being rebuilt meanwhile: then they wait for it. */
  rebuilt = false

  /** One look, and when it was asked for and answered, on the clock's `elapsed`. */
  look({ releases, door }: Pick<WireAudit, 'releases' | 'door'>, askedMs: number, answeredMs: number): void {
    if (releases === 0) this.lookAway()
    else if (this.#sinceMs === undefined || releases > this.#before) this.#sinceMs = answeredMs
    else this.longestMs = Math.max(this.longestMs, askedMs - this.#sinceMs)
    if (releases > 0) this.#someSinceMs ??= answeredMs
    this.openMs = Math.max(0, askedMs - (this.#someSinceMs ?? askedMs))
    this.#before = releases
    if (releases > 0 && door === 'draining') this.rebuilt = true
  }

  /** From here nobody looks: what is seen next may be another one. */
  lookAway(): void {
    this.#sinceMs = undefined
    this.#someSinceMs = undefined
  }
}
