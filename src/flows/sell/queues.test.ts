import { expect, test } from 'bun:test'
import { createBatcher } from '../../base/batcher.ts'
import { shardOf } from '../../gate/shard-ids.ts'
import { createQueues } from './queues.ts'

const PLACES = 4
const asks = Array.from({ length: 200 }, (_, i) => ({ buyer: `buyer-${i % 150}` }))

test('every batch is of one place, everybody is answered, and together the lines are as long as one', async () => {
  const batches: (readonly string[])[] = []
  const bounds: number[] = []
  const lines = createQueues<{ buyer: string }, string>(PLACES, 1_000, queueMax => {
    bounds.push(queueMax)
    return createBatcher({
      batchMax: 10,
      queueMax,
      async run(batch) {
        batches.push(batch.map(({ buyer }) => buyer))
        return batch.map(({ buyer }) => buyer)
      },
    })
  })
  const answers = asks.map(ask => lines.join(ask))
  expect(lines.depth()).toBe(asks.length)
  expect(await Promise.all(answers)).toEqual(asks.map(({ buyer }) => buyer))
  await lines.drained()
  expect(lines.depth()).toBe(0)
  expect(lines.peak()).toEqual({ depth: asks.length, batch: 10 })
  expect(bounds).toEqual([250, 250, 250, 250])
  for (const batch of batches) expect(new Set(batch.map(buyer => shardOf(buyer, PLACES))).size).toBe(1)
})

test('a full line turns away those of its place and nobody else', async () => {
  const hold = Promise.withResolvers<void>()
  const lines = createQueues<{ buyer: string }, string>(2, 2, queueMax =>
    createBatcher({
      batchMax: 1,
      queueMax,
      async run(batch) {
        await hold.promise
        return batch.map(({ buyer }) => buyer)
      },
    }),
  )
  const of = (shard: number) => asks.filter(({ buyer }) => shardOf(buyer, 2) === shard)
  const first = lines.join(of(0)[0]!)
  expect(lines.join(of(0)[1]!)).toBeUndefined()
  expect(lines.join(of(1)[0]!)).toBeDefined()
  hold.resolve()
  expect(await first).toBe(of(0)[0]!.buyer)
  await lines.drained()
})
