import { describe, expect, test } from 'bun:test'
import { until } from '../../../test/harness/until.ts'
import { createBatcher } from './batcher.ts'
import { createWaves } from './waves.ts'

/** A clock whose sleepers are woken by hand. */
function handClock() {
  let nowMs = 0
  const sleepers: { readonly untilMs: number; readonly wake: () => void }[] = []
  return {
    clock: {
      elapsed: () => nowMs,
      sleep: (ms: number) => new Promise<void>(wake => sleepers.push({ untilMs: nowMs + ms, wake })),
    },
    pass(ms: number) {
      nowMs += ms
      for (const { untilMs, wake } of sleepers) if (untilMs <= nowMs) wake()
    },
  }
}

/** Queues of one set of waves. Batches are answered at once; each is over when the test says so. */
function queues(count: number, msMax = 50) {
  const { clock, pass } = handClock()
  const waves = createWaves({ clock, msMax })
  const ran: string[] = []
  const holds: PromiseWithResolvers<void>[] = []
  const all = Array.from({ length: count }, (_, i) =>
    createBatcher<number, number>({
      batchMax: 500,
      queueMax: 1_000,
      waves,
      async run(batch) {
        ran.push(`${i}: ${batch.join(' ')}`)
        return batch
      },
      hold() {
        holds.push(Promise.withResolvers())
        return holds.at(-1)!.promise
      },
    }),
  )
  const over = () => {
    for (const one of holds) one.resolve()
  }
  return { all, ran, over, pass }
}

/** Many turns of the event loop: everything that is due has happened then. */
async function turns() {
  for (let i = 0; i < 20; i++) await new Promise<void>(resolve => setImmediate(resolve))
}

describe('a wave', () => {
  test('begins the batches of all queues together, when every batch of the last wave is over', async () => {
    const { all, ran, over } = queues(3)
    const answers = [all[0]!.join(1), all[1]!.join(2)]
    await until('both began', () => ran.length === 2)
    expect(await Promise.all(answers)).toEqual([1, 2])
    void all[2]!.join(3)
    await turns()
    void all[0]!.join(4)
    await turns()
    // Held back are the next batches, not the answers of the last ones.
    expect(ran).toEqual(['0: 1', '1: 2'])
    over()
    await until('the next wave', () => ran.length === 4)
    expect(ran.slice(2)).toEqual(['2: 3', '0: 4'])
  })

  test('is not held back when enough asks wait in all queues together', async () => {
    const { all, ran } = queues(2)
    void all[0]!.join(0)
    await until('it began', () => ran.length === 1)
    for (let n = 1; n <= 63; n++) void all[n % 2]!.join(n)
    await turns()
    expect(ran).toHaveLength(1)
    void all[0]!.join(64)
    await until('the next wave', () => ran.length === 3)
  })

  test('is not held back for longer than it may be', async () => {
    const { all, ran, pass } = queues(2)
    void all[0]!.join(1)
    await until('it began', () => ran.length === 1)
    void all[1]!.join(2)
    await turns()
    pass(49)
    await turns()
    expect(ran).toEqual(['0: 1'])
    pass(1)
    await until('the next wave', () => ran.length === 2)
    // The first wave is still not over: it holds back a third one no longer than the second would.
    void all[0]!.join(3)
    await turns()
    expect(ran).toHaveLength(2)
    pass(50)
    await until('a third wave', () => ran.length === 3)
  })

  test('of batches that failed is over at once', async () => {
    const { clock } = handClock()
    const waves = createWaves({ clock, msMax: 50 })
    let tries = 0
    const queue = createBatcher<number, number>({
      batchMax: 8,
      queueMax: 8,
      waves,
      async run(batch) {
        tries += 1
        if (tries === 1) throw new Error('away')
        return batch
      },
      hold: () => new Promise(() => {}),
    })
    expect(await queue.join(1)!.catch((error: Error) => error.message)).toBe('away')
    expect(await queue.join(2)).toBe(2)
    await queue.drained()
  })
})
