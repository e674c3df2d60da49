/**
 * Batches at a bounded pace, for reads of which many come at once and none is urgent: at most one batch is sent in `everyMs`, however many
 * ask. The first ask after a pause is sent at once.
 *
 * Guarantees: an ask is run in a batch that is sent after it joined, exactly once; never more than `queueMax` waiting, nor more than
 * `atOnceMax` batches under way; a batch that fails rejects its own asks only. A batch that hangs holds up no other before that bound.
 */

import { assert } from '../assert.ts'
import type { Clock } from '../clock.ts'

interface PacedBatcherOptions<Ask, Answer> {
  readonly clock: Clock
  readonly everyMs: number
  readonly batchMax: number
  readonly queueMax: number
  readonly atOnceMax: number
  /** Answers in the order of the asks, one each. */
  readonly run: (batch: readonly Ask[]) => Promise<readonly Answer[]>
}

export function createPacedBatcher<Ask, Answer>(options: PacedBatcherOptions<Ask, Answer>) {
  const { clock, everyMs, batchMax, queueMax, atOnceMax, run } = options
  const waiting: { readonly ask: Ask; readonly answer: PromiseWithResolvers<Answer> }[] = []
  let sentAtMs = Number.NEGATIVE_INFINITY
  let underway = 0
  let due = false

  function schedule(): void {
    if (due || waiting.length === 0 || underway >= atOnceMax) return
    due = true
    void sendWhenDue()
  }

  /** Never rejects: an error belongs to the asks of its batch. */
  async function sendWhenDue(): Promise<void> {
    const waitMs = sentAtMs + everyMs - clock.elapsed()
    if (waitMs > 0) await clock.sleep(waitMs)
    due = false
    sentAtMs = clock.elapsed()
    const batch = waiting.splice(0, batchMax)
    underway += 1
    schedule()
    try {
      const answers = await run(batch.map(({ ask }) => ask))
      assert(answers.length === batch.length, `a batch of ${batch.length} asks got ${answers.length} answers`)
      for (const [i, { answer }] of batch.entries()) answer.resolve(answers[i]!)
    } catch (error) {
      for (const { answer } of batch) answer.reject(error)
    }
    underway -= 1
    schedule()
  }

  return {
    /** `undefined`: too many wait, nothing was taken. */
    join(ask: Ask): Promise<Answer> | undefined {
      if (waiting.length >= queueMax) return undefined
      const answer = Promise.withResolvers<Answer>()
      waiting.push({ ask, answer })
      schedule()
      return answer.promise
    },
  }
}
