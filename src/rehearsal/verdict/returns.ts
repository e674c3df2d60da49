/**
 * How long returned units were seen waiting to be on sale again, over all audits that were read while no buyer asked for anything. A lower
 * bound: from the answer that first showed some to the last request that still did. When there are more than before, some are new and it
 * is unknown which are old, so the measurement begins anew.
 */

import type { AuditAnswer } from '../../wire/answers.ts'

/** Promise 3, and the time allowed to a machine that has just been under the crowd's load. */
export const BACK_MS_MAX = 2_000
export const BACK_MS_ROOM = 5 * BACK_MS_MAX

export class Returns {
  #sinceMs: number | undefined
  /** Since when every audit has shown some. */
  #someSinceMs: number | undefined
  #before = 0
  /** The longest time that a unit was seen waiting. */
  longestMs = 0
  /** For how long every audit up to the last one had shown some, perhaps different ones; 0 when the last showed none. */
  openMs = 0
  /** The gate was being rebuilt meanwhile: units wait for it. */
  rebuilt = false

  /** One audit, and when it was requested and answered, on the clock's `elapsed`. */
  observe({ releases, door }: Pick<AuditAnswer, 'releases' | 'door'>, askedMs: number, answeredMs: number): void {
    if (releases === 0) this.pause()
    else if (this.#sinceMs === undefined || releases > this.#before) this.#sinceMs = answeredMs
    else this.longestMs = Math.max(this.longestMs, askedMs - this.#sinceMs)
    if (releases > 0) this.#someSinceMs ??= answeredMs
    this.openMs = Math.max(0, askedMs - (this.#someSinceMs ?? askedMs))
    this.#before = releases
    if (releases > 0 && door === 'draining') this.rebuilt = true
  }

  /** No audits are read for a while: units seen next may be different ones. */
  pause(): void {
    this.#sinceMs = undefined
    this.#someSinceMs = undefined
  }
}
