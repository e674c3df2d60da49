/**
 * The bounded queue with one batch in flight. While batch N runs, batch N+1 collects; there are no timers, so a lone ask does not wait
 * and a crowd makes its own batches. Queues that share waves (`waves.ts`) begin their batches together.
 *
 * Guarantees: asks are run in the order they joined, each exactly once; never two batches at a time; never more than `queueMax` waiting;
 * a batch that fails rejects its own asks only. Does not retry, time out or shed by age: `run` brings its own bounds.
 *
 * States: idle → due (the first ask joined) → running → (a few turns of the event loop, with `defer`; the next wave) → running (the queue was not
 * empty) … → idle.
 */

import { assert } from '../assert.ts'
import { FULL_ENOUGH, TURNS_BETWEEN_MAX, type Waves } from './waves.ts'

interface BatcherOptions<Ask, Answer> {
  readonly batchMax: number
  /** How many may wait, those in flight not counted. */
  readonly queueMax: number
  /** Answers in the order of the asks, one each. */
  readonly run: (batch: readonly Ask[]) => Promise<readonly Answer[]>
  /**
   * How an idle queue starts: all asks that join before `fn` is called share the first batch. A microtask by default; where every ask
   * arrives in a callback of its own, a turn of the event loop makes fuller batches. Given one, the queue also lets a few turns pass
   * between two batches: a client that was just answered may ask again, and shares the next batch with those who came meanwhile.
   */
  readonly defer?: (fn: () => void) => void
  /** Instead of `defer`: every batch begins with a wave that several queues share. For where `run` ends long before its clients can ask again. */
  readonly waves?: Waves | undefined
  /** When a batch that was answered is over for its wave; undefined: at once. It brings its own bound, and never rejects. */
  readonly hold?: (answers: readonly Answer[]) => Promise<void> | undefined
}

export type Batcher<Ask, Answer> = ReturnType<typeof createBatcher<Ask, Answer>>

/** A batch from its first ask on. The queue is a list of these, all full but the last, so that nothing is ever copied. */
interface Batch<Ask, Answer> {
  readonly asks: Ask[]
  readonly resolves: ((answer: Answer) => void)[]
  readonly rejects: ((error: unknown) => void)[]
}

export function createBatcher<Ask, Answer>(options: BatcherOptions<Ask, Answer>) {
  const { batchMax, queueMax, run, defer = queueMicrotask, waves } = options
  const turnsMax = options.defer === undefined ? 0 : TURNS_BETWEEN_MAX
  assert(Number.isInteger(batchMax) && batchMax >= 1, `a batch of ${batchMax} is no batch`)
  assert(Number.isInteger(queueMax) && queueMax >= 1, `a queue of ${queueMax} is no queue`)

  const enough = Math.min(batchMax, FULL_ENOUGH)
  const queue: Batch<Ask, Answer>[] = []
  let depth = 0
  let depthPeak = 0
  let batchPeak = 0
  let idle = true
  let quiet: PromiseWithResolvers<void> | undefined

  /** `undefined`: the queue is full, nothing was taken. */
  function join(ask: Ask): Promise<Answer> | undefined {
    if (depth >= queueMax) return undefined
    let batch = queue[queue.length - 1]
    if (batch === undefined || batch.asks.length >= batchMax) {
      batch = { asks: [], resolves: [], rejects: [] }
      queue.push(batch)
    }
    const { asks, resolves, rejects } = batch
    asks.push(ask)
    depth += 1
    if (depth > depthPeak) depthPeak = depth
    waves?.joined()
    const answer = new Promise<Answer>((resolve, reject) => {
      resolves.push(resolve)
      rejects.push(reject)
    })
    if (idle) {
      idle = false
      if (waves === undefined) defer(start)
      else void waves.next().then(start)
    }
    return answer
  }

  function start(): void {
    void runQueue()
  }

  /** Never rejects: an error belongs to the asks of its batch. */
  async function runQueue(): Promise<void> {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
      depth -= batch.asks.length
      if (batch.asks.length > batchPeak) batchPeak = batch.asks.length
      const over = waves?.began(batch.asks.length)
      const answers = await runBatch(batch)
      if (over !== undefined) {
        const held = answers && options.hold?.(answers)
        if (held === undefined) over()
        else void held.then(over)
        if (depth > 0) await waves!.next()
        continue
      }
      const all = Math.min(enough, depth + batch.asks.length)
      // After a lone ask there is nothing to wait for.
      if (all === 1) continue
      for (let turns = 0; turns < turnsMax && depth < all; turns++) await new Promise<void>(resolve => defer(resolve))
    }
    idle = true
    quiet?.resolve()
    quiet = undefined
  }

  /** Undefined: it failed. */
  async function runBatch({ asks, resolves, rejects }: Batch<Ask, Answer>): Promise<readonly Answer[] | undefined> {
    try {
      const answers = await run(asks)
      assert(answers.length === resolves.length, `a batch of ${resolves.length} asks got ${answers.length} answers`)
      for (let i = 0; i < resolves.length; i++) resolves[i]!(answers[i]!)
      return answers
    } catch (error) {
      for (const reject of rejects) reject(error)
      return undefined
    }
  }

  return {
    join,
    /** How many wait, those in flight not counted. */
    depth: () => depth,
    /** The longest queue and the largest batch so far. */
    peak: () => ({ depth: depthPeak, batch: batchPeak }),
    /** Resolves when nothing waits and nothing is in flight. */
    drained(): Promise<void> {
      if (idle) return Promise.resolve()
      quiet ??= Promise.withResolvers()
      return quiet.promise
    },
  }
}
