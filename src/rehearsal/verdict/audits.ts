/**
 * Reads a sale's audit, once or until the sale is at rest: the outbox is empty, returned units are on sale again, no gate is draining, and
 * the server's own audit agrees. Bounded; after the limit, or when stopped, the last audit is returned as it is, and the verdict says so.
 *
 * Over all audits, measures how long returned units were seen waiting to be on sale again while no buyer asked for anything. A lower
 * bound: from the answer that first showed some to the last request that still did. When there are more than before, some are new and it
 * is unknown which are old, so the measurement begins anew.
 */

import type { Clock } from '../../base/clock.ts'
import type { AuditAnswer } from '../../wire/answers.ts'
import type { Operator } from '../operator/operator.ts'

const POLL_MS = 100

export class Audits {
  readonly #sale: string
  readonly #clock: Clock
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

  constructor(sale: string, clock: Clock) {
    this.#sale = sale
    this.#clock = clock
  }

  async read(operator: Operator): Promise<AuditAnswer> {
    const askedMs = this.#clock.elapsed()
    const audit = await operator.audit(this.#sale)
    this.observe(audit, askedMs, this.#clock.elapsed())
    return audit
  }

  /** `watch` is called with what is waited for. */
  async untilQuiet(
    operator: Operator,
    msMax: number,
    watch: (waitsFor: string) => void,
    stop: AbortSignal,
  ): Promise<AuditAnswer> {
    const untilMs = this.#clock.elapsed() + msMax
    this.pause()
    for (;;) {
      const audit = await this.read(operator)
      const waitsFor = stillMoving(audit)
      if (waitsFor === undefined || this.#clock.elapsed() >= untilMs) return audit
      watch(waitsFor)
      await this.#clock.sleep(POLL_MS, stop)
      if (stop.aborted) return audit
    }
  }

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

/** What is not at rest, for the progress line; undefined when everything is. */
function stillMoving({ outbox, releases, door, consistent }: AuditAnswer): string | undefined {
  const moving = [
    outbox > 0 && `${outbox} reserved and not placed yet`,
    releases > 0 && `${releases} units not back on sale yet`,
    door === 'draining' && 'the gate is being rebuilt',
  ].filter(text => text !== false)
  if (moving.length > 0) return moving.join(', ')
  return consistent ? undefined : 'stock of gate and ledger does not agree yet'
}
