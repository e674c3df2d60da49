/**
 * Reads give way to placing: every statement of the lane `reads` takes a turn. While orders are placed, one turn runs at a time, and after it
 * reads rest for as long as it took. So they use at most half the time of one connection, in pieces as long as their longest statement. A turn
 * that has lasted `SLOW_MS` holds up no other any more. While no order is placed, as many turns run as the lane has connections, and none rests.
 *
 * Of those that wait, the kind that has used least time goes first: forty buyers' lists do not hold up an export, nor an audit a list. Within a
 * kind turns are taken in arrival order. Bounded: only so many wait, and one that has waited `WAIT_MS_MAX` gets a fault when a turn ends.
 *
 * Does not know statements, nor what being busy is: the caller says both.
 */

import type { Clock } from '../../../base/clock.ts'
import { Fault } from '../../../base/fault.ts'

interface ReadTurnsOptions {
  readonly clock: Clock
  /** How many run at once while no order is placed. */
  readonly turnsMax: number
  readonly waitingMax: number
  readonly isBusy: () => boolean
}

interface Waiter {
  readonly sinceMs: number
  readonly start: () => void
  readonly refuse: (fault: Fault) => void
}

interface Kind {
  readonly waiting: Waiter[]
  /** By turns that have ended. */
  usedMs: number
}

interface Turn {
  readonly kind: Kind
  readonly sinceMs: number
}

export const LANE_FULL = 'ledger_busy'
const WAIT_MS_MAX = 10_000
/** A read that waits for a lock, or counts a very large item: others are not to wait for it. */
const SLOW_MS = 500
/** Nothing tells that a rush is over, or that a turn is slow: it is looked at while reads wait. */
const LOOK_EVERY_MS = 100
const REST_MS_MIN = 1
const REST_MS_MAX = 500

export function createReadTurns({ clock, turnsMax, waitingMax, isBusy }: ReadTurnsOptions) {
  const kinds = new Map<string, Kind>()
  let waiting = 0
  const running = new Set<Turn>()
  let resting = false
  let looking = false

  function mayStart(): boolean {
    if (resting || running.size >= turnsMax) return false
    if (running.size === 0 || !isBusy()) return true
    for (const { sinceMs } of running) if (clock.elapsed() - sinceMs < SLOW_MS) return false
    return true
  }

  /** While reads wait. */
  async function look(): Promise<void> {
    if (looking) return
    looking = true
    while (waiting > 0) {
      await clock.sleep(LOOK_EVERY_MS)
      startNext()
    }
    looking = false
  }

  function kindOf(name: string): Kind {
    const known = kinds.get(name)
    // What a kind did not use while it had nothing to ask is not owed to it.
    const leastMs = Math.min(...[...kinds.values()].filter(one => one.waiting.length > 0).map(one => one.usedMs))
    if (known !== undefined) {
      if (known.waiting.length === 0 && Number.isFinite(leastMs)) known.usedMs = Math.max(known.usedMs, leastMs)
      return known
    }
    const kind = { waiting: [], usedMs: Number.isFinite(leastMs) ? leastMs : 0 }
    kinds.set(name, kind)
    return kind
  }

  function usedBy(kind: Kind): number {
    let usedMs = kind.usedMs
    for (const turn of running) if (turn.kind === kind) usedMs += clock.elapsed() - turn.sinceMs
    return usedMs
  }

  function next(): Waiter | undefined {
    let first: Kind | undefined
    for (const kind of kinds.values())
      if (kind.waiting.length > 0 && (first === undefined || usedBy(kind) < usedBy(first))) first = kind
    const waiter = first?.waiting.shift()
    if (waiter !== undefined) waiting -= 1
    return waiter
  }

  function startNext(): void {
    for (let waiter = mayStart() ? next() : undefined; waiter !== undefined; waiter = mayStart() ? next() : undefined) {
      if (clock.elapsed() - waiter.sinceMs > WAIT_MS_MAX) waiter.refuse(laneFull(waiting))
      else waiter.start()
    }
  }

  function begin(kind: Kind): Turn {
    const turn = { kind, sinceMs: clock.elapsed() }
    running.add(turn)
    return turn
  }

  /** The turn has begun when it resolves. */
  function join(kind: Kind): Promise<Turn> | Turn {
    if (waiting === 0 && mayStart()) return begin(kind)
    if (waiting >= waitingMax) throw laneFull(waiting)
    waiting += 1
    const turn = new Promise<Turn>((resolve, refuse) => {
      kind.waiting.push({ sinceMs: clock.elapsed(), start: () => resolve(begin(kind)), refuse })
    })
    void look()
    return turn
  }

  function end(tookMs: number): void {
    if (!isBusy() || resting) {
      startNext()
      return
    }
    resting = true
    void clock.sleep(Math.min(Math.max(tookMs, REST_MS_MIN), REST_MS_MAX)).then(() => {
      resting = false
      startNext()
    })
  }

  return {
    /** Resolves or rejects as `work` does. Throws a Fault when too many wait, or after too long a wait. */
    async take<T>(name: string, work: () => Promise<T>): Promise<T> {
      const kind = kindOf(name)
      const joined = join(kind)
      const turn = joined instanceof Promise ? await joined : joined
      try {
        return await work()
      } finally {
        running.delete(turn)
        const tookMs = clock.elapsed() - turn.sinceMs
        kind.usedMs += tookMs
        end(tookMs)
      }
    },
    waiting: () => waiting,
  }
}

function laneFull(waiting: number): Fault {
  return new Fault(LANE_FULL, `${waiting} reads wait for their turn at the ledger already`, { retryable: true })
}
