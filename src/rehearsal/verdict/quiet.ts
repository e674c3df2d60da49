/**
 * Waits until a sale is at rest: the outbox is empty, returned units are on sale again, no gate is draining, and the server's own audit
 * agrees. Bounded; after the limit, or when stopped, the last audit is returned as it is, and the verdict says so.
 */

import type { Clock } from '../../base/clock.ts'
import type { AuditAnswer } from '../../wire/answers.ts'
import type { Operator } from '../operator/operator.ts'
import type { Returns } from './returns.ts'

export interface Waiting {
  readonly msMax: number
  /** Called with what is waited for. */
  readonly watch: (waitsFor: string) => void
  readonly stop?: AbortSignal
  /** Observes every audit. */
  readonly returns: Returns
}

const POLL_MS = 100

export async function untilQuiet(
  operator: Operator,
  clock: Clock,
  sale: string,
  waiting: Waiting,
): Promise<AuditAnswer> {
  const { msMax, watch, stop, returns } = waiting
  const untilMs = clock.elapsed() + msMax
  returns.pause()
  for (;;) {
    const audit = await readAudit(operator, clock, sale, returns)
    const waitsFor = stillMoving(audit)
    if (waitsFor === undefined || clock.elapsed() >= untilMs) return audit
    watch(waitsFor)
    await clock.sleep(POLL_MS, stop)
    if (stop?.aborted) return audit
  }
}

export async function readAudit(
  operator: Operator,
  clock: Clock,
  sale: string,
  returns: Returns,
): Promise<AuditAnswer> {
  const askedMs = clock.elapsed()
  const audit = await operator.audit(sale)
  returns.observe(audit, askedMs, clock.elapsed())
  return audit
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
