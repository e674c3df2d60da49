/**
 * Makes one call of many: what is asked while a call is under way shares the next one. Each ask is answered by a call that began after it was
 * asked, so an answer is never older than its question. Bounded; at the bound it is a fault.
 */

import { Fault } from '../fault.ts'
import { createBatcher } from './batcher.ts'

const WAITING_MAX = 100_000

export function together<Ask, Answer>(
  batchMax: number,
  run: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
): (ask: Ask) => Promise<Answer> {
  const batcher = createBatcher<Ask, Answer>({ batchMax, queueMax: WAITING_MAX, run })
  return async ask => {
    const answer = batcher.join(ask)
    if (answer === undefined)
      throw new Fault('too_many_asks', 'too many calls wait for the same answer', { retryable: true })
    return answer
  }
}
