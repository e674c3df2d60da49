/**
 * Waits until nothing of a sale is on its way any more: the outbox is empty, what came back is on sale again, nobody is draining, and
 * the server's own audit agrees. Bounded, and given up when stopped: then the audit is what it is, and the verdict says so.
 */

import type { Clock } from '../../base/clock.ts'
import type { Stage, WireAudit } from '../stage/stage.ts'
import type { Returns } from './returns.ts'

/** How long what is still on its way is waited for, who hears of it, and what ends it early. */
export interface Waiting {
  readonly msMax: number
  readonly watch: (waitsFor: string) => void
  readonly stop?: AbortSignal
  /** Hears of every look. */
  readonly returns: Returns
}

const LOOK_MS = 100

export async function untilQuiet(stage: Stage, clock: Clock, sale: string, waiting: Waiting): Promise<WireAudit> {
  const { msMax, watch, stop, returns } = waiting
  const untilMs = clock.elapsed() + msMax
  returns.lookAway()
  for (;;) {
    const audit = await look(stage, clock, sale, returns)
    const waitsFor = stillMoving(audit)
    if (waitsFor === undefined || clock.elapsed() >= untilMs) return audit
    watch(waitsFor)
    await clock.sleep(LOOK_MS, stop)
    if (stop?.aborted) return audit
  }
}

/** The books as they are now; `returns` hears of it. */
export async function look(stage: Stage, clock: Clock, sale: string, returns: Returns): Promise<WireAudit> {
  const askedMs = clock.elapsed()
  const audit = await stage.audit(sale)
  returns.look(audit, askedMs, clock.elapsed())
  return audit
}

/** What is not at rest, for people; undefined when all is. */
function stillMoving({ outbox, releases, door, consistent }: WireAudit): string | undefined {
  const ways = [
    outbox > 0 && `${outbox} reserved and not placed yet`,
    releases > 0 && `${releases} on their way back`,
    door === 'draining' && 'the gate is being rebuilt',
  ].filter(text => text !== false)
  if (ways.length > 0) return ways.join(', ')
  return consistent ? undefined : 'the books do not agree yet'
}
