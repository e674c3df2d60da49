/**
 * What reads much of the ledger for operators (audits, reconciliation, exports) rests while clicks wait: each statement of it takes time of
 * PostgreSQL that placing needs. It rests before a statement or between two pages, at most as long as it works, so that it always ends.
 * Busy is what this process sees in the queues of its own live items; a keeper has no clicks of its own.
 *
 * States: working (`WORK_MS`) → resting while a queue is busy (`REST_MS_MAX` at most; all callers together) → working.
 */

import type { Clock } from '../../base/clock.ts'
import type { Reconciliation } from '../../ledger/reconciliation.ts'
import type { LiveItem } from '../sell/live-item.ts'

export type Rest = () => Promise<void>

interface RestContext {
  readonly clock: Clock
  readonly registry: ReadonlyMap<string, Pick<LiveItem, 'queue' | 'unsettled'>>
}

const REST_MS_MAX = 500
const WORK_MS = 500
const CHECK_EVERY_MS = 25
/** So many clicks of an item that wait, or are being placed. */
const BUSY_MIN = 16

export function createRest({ clock, registry }: RestContext): Rest {
  let workUntilMs = Number.NEGATIVE_INFINITY
  let resting: Promise<void> | undefined

  function isBusy(): boolean {
    for (const { queue, unsettled } of registry.values()) if (queue.depth() + unsettled.size >= BUSY_MIN) return true
    return false
  }

  async function rest(): Promise<void> {
    const untilMs = clock.elapsed() + REST_MS_MAX
    while (clock.elapsed() < untilMs && isBusy()) await clock.sleep(CHECK_EVERY_MS)
    workUntilMs = clock.elapsed() + WORK_MS
    resting = undefined
  }

  return async () => {
    if (resting === undefined && (clock.elapsed() < workUntilMs || !isBusy())) return
    resting ??= rest()
    await resting
  }
}

/** Decorator: rests before each statement that reads all orders or payments of a sale or an item. */
export function withRests<R extends Reconciliation>(reconciliation: R, rest: Rest): R {
  return {
    ...reconciliation,
    async audit(sale) {
      await rest()
      return reconciliation.audit(sale)
    },
    async held(item) {
      await rest()
      return reconciliation.held(item)
    },
    async paymentsAmiss(sale) {
      await rest()
      return reconciliation.paymentsAmiss(sale)
    },
    async results(sale) {
      await rest()
      return reconciliation.results(sale)
    },
  }
}
