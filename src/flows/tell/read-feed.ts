/**
 * The feed: a shop that would rather ask than be called reads the events behind its cursor, and may wait for the next one. The cursor is the number
 * of the event that was handled last; the same cursor again gives the same events.
 */

import type { Clock } from '../../base/clock.ts'
import type { EventType, ShopEvent } from '../../domain/shop-event.ts'
import type { EventLog } from '../../ledger/events.ts'
import type { EventWatch } from './event-watch.ts'

export interface FeedContext {
  readonly eventLog: Pick<EventLog, 'read' | 'ends'>
  readonly watch: Pick<EventWatch, 'beyond'>
  readonly clock: Clock
}

interface FeedQuery {
  /** oldest: all that are kept; newest: only what is told from now on. */
  readonly after: number | 'oldest' | 'newest'
  /** Undefined: all types. */
  readonly types: ReadonlySet<EventType> | undefined
  readonly limit: number
  readonly waitMs: number
}

type FeedOutcome =
  | { readonly kind: 'page'; readonly events: readonly ShopEvent[]; readonly next: number }
  /** Events behind the cursor were deleted. Or no event has that number yet: the ledger was restored, or it is another one. */
  | { readonly kind: 'expired'; readonly oldest: number }

/** Numbers that one request reads at most where it wants a few types only; it answers with the cursor that it has reached. */
const PAGES_MAX = 10

export async function readFeed(context: FeedContext, query: FeedQuery, signal: AbortSignal): Promise<FeedOutcome> {
  const { eventLog, watch, clock } = context
  const { types, limit, waitMs } = query
  const untilMs = clock.elapsed() + waitMs
  let next = await cursorOf(eventLog, query.after)
  for (let pages = 1; ; pages++) {
    const page = await eventLog.read(next, limit)
    if (page.expired || next > page.newest) return { kind: 'expired', oldest: page.oldest }
    next = page.last
    const events = types === undefined ? page.events : page.events.filter(({ type }) => types.has(type))
    const leftMs = untilMs - clock.elapsed()
    const isEnd = next === page.newest
    if (events.length > 0 || (isEnd ? leftMs <= 0 || signal.aborted : pages >= PAGES_MAX))
      return { kind: 'page', events, next }
    if (!isEnd) continue
    pages = 0
    const seen = next
    await watch.beyond(seen, leftMs, signal)
    if ((await eventLog.ends()).newest <= seen) return { kind: 'page', events: [], next: seen }
  }
}

async function cursorOf(eventLog: FeedContext['eventLog'], after: FeedQuery['after']): Promise<number> {
  if (typeof after === 'number') return after
  const { oldest, newest } = await eventLog.ends()
  return after === 'oldest' ? oldest - 1 : newest
}
