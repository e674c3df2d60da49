/**
 * The leader's part in the events: it writes those that no other transaction knows of (a sale has opened, an order is closing soon), gives all of
 * them their numbers, and deletes what has been kept long enough. Each step is one transaction and may be repeated: dying in between delays
 * events and loses none, and two leaders at once give no number twice (`ledger/functions/number_events.sql`).
 *
 * Does not deliver: feed, webhooks and Kafka read by number.
 */

import type { Clock } from '../../base/clock.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { EventLog } from '../../ledger/events.ts'

interface EventKeeperContext {
  readonly eventLog: EventLog
  readonly clock: Clock
  /** Undefined: no order is told as closing soon. */
  readonly closingSoonMs: number | undefined
  /** Undefined: for good. */
  readonly keptMs: number | undefined
  /** Called with the newest number after a round that gave some. They must not throw. */
  readonly onNumbered: readonly ((newest: number) => void)[]
}

/** How often it is asked what is due. */
const DUE_EVERY_MS = 500
const SWEEP_EVERY_MS = 60_000
const ROWS_MAX = 1_000
const SALES_MAX = 100
const ORDERS_MAX = 5_000

/** One round. True when there is more to do. */
export function createEventKeeper(context: EventKeeperContext): () => Promise<boolean> {
  const { eventLog, clock, closingSoonMs, keptMs } = context
  let dueAtMs = Number.NEGATIVE_INFINITY
  let sweepAtMs = Number.NEGATIVE_INFINITY

  async function noteDue(): Promise<boolean> {
    const sales = await eventLog.noteOpened(SALES_MAX)
    const orders = closingSoonMs === undefined ? 0 : await eventLog.noteClosingSoon(closingSoonMs, ORDERS_MAX)
    return sales.length === SALES_MAX || orders >= ORDERS_MAX
  }

  return async () => {
    const nowMs = clock.elapsed()
    let more = false
    if (nowMs >= dueAtMs) {
      more = await noteDue()
      if (!more) dueAtMs = nowMs + DUE_EVERY_MS
    }
    await faultPoint('events.before')
    const numbered = await eventLog.number(ROWS_MAX)
    await faultPoint('events.numbered')
    if (numbered.rows > 0) for (const onNumbered of context.onNumbered) onNumbered(numbered.newest)
    if (keptMs !== undefined && nowMs >= sweepAtMs) {
      const swept = await eventLog.sweep(keptMs, ROWS_MAX)
      if (swept < ROWS_MAX) sweepAtMs = nowMs + SWEEP_EVERY_MS
      else more = true
    }
    return more || numbered.more
  }
}
