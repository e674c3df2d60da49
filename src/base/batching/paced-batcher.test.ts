import { expect, test } from 'bun:test'
import { createPacedBatcher } from './paced-batcher.ts'

function stage(options: { batchMax?: number; queueMax?: number; atOnceMax?: number } = {}) {
  let nowMs = 0
  const sleeping: { readonly atMs: number; readonly wake: () => void }[] = []
  const clock = {
    now: () => nowMs,
    elapsed: () => nowMs,
    sleep: (ms: number) => new Promise<void>(wake => void sleeping.push({ atMs: nowMs + ms, wake })),
  }
  const batches: {
    readonly asks: readonly number[]
    readonly atMs: number
    readonly end: PromiseWithResolvers<void>
  }[] = []
  const batcher = createPacedBatcher<number, number>({
    clock,
    everyMs: 50,
    batchMax: 100,
    queueMax: 1_000,
    atOnceMax: 2,
    ...options,
    async run(asks) {
      const end = Promise.withResolvers<void>()
      batches.push({ asks, atMs: nowMs, end })
      await end.promise
      return asks.map(ask => ask * 10)
    },
  })
  async function pass(ms: number): Promise<void> {
    nowMs += ms
    for (const one of sleeping.splice(0)) {
      if (one.atMs <= nowMs) one.wake()
      else sleeping.push(one)
    }
    await new Promise(resolve => setImmediate(resolve))
  }
  return { batcher, batches, pass }
}

test('the first goes at once; a crowd that comes after it shares the next batch, a while later', async () => {
  const { batcher, batches, pass } = stage()
  const first = batcher.join(1)
  await pass(0)
  expect(batches.map(({ asks }) => asks)).toEqual([[1]])
  const crowd = [2, 3, 4].map(ask => batcher.join(ask))
  batches[0]!.end.resolve()
  expect(await first).toBe(10)
  await pass(49)
  expect(batches).toHaveLength(1)
  await pass(1)
  expect(batches[1]).toMatchObject({ asks: [2, 3, 4], atMs: 50 })
  batches[1]!.end.resolve()
  expect(await Promise.all(crowd)).toEqual([20, 30, 40])
})

test('a batch that hangs does not hold up the next; only so many are under way, only so many wait', async () => {
  const { batcher, batches, pass } = stage({ batchMax: 2, queueMax: 3 })
  void batcher.join(1)
  await pass(0)
  for (const ask of [2, 3, 4]) void batcher.join(ask)
  expect(batcher.join(5)).toBeUndefined()
  await pass(50)
  await pass(50)
  expect(batches.map(({ asks }) => asks)).toEqual([[1], [2, 3]])
  batches[0]!.end.resolve()
  await pass(0)
  expect(batches.map(({ asks }) => asks)).toEqual([[1], [2, 3], [4]])
})

test('a batch that fails fails its own asks only', async () => {
  const { batcher, batches, pass } = stage()
  const first = batcher.join(1)!.catch((error: Error) => error.message)
  await pass(0)
  const second = batcher.join(2)
  batches[0]!.end.reject(new Error('away'))
  expect(await first).toBe('away')
  await pass(50)
  batches[1]!.end.resolve()
  expect(await second).toBe(20)
})
