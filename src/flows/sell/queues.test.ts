import { expect, test } from 'bun:test'
import { createBatcher } from '../../base/batching/batcher.ts'
import { shardOf } from '../../gate/shard-ids.ts'
import { createQueues } from './live-item.ts'

const lanesOf = (count: number) => ({ count, laneOf: (buyer: string) => shardOf(buyer, count) })
const asks = Array.from({ length: 200 }, (_, i) => ({ buyer: `buyer-${i % 150}` }))

test('every batch is of one lane, everybody is answered, and together the queues are as long as one', async () => {
  const batches: (readonly string[])[] = []
  const bounds: number[] = []
  const queues = createQueues<{ buyer: string }, string>(lanesOf(4), 1_000, queueMax => {
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
  const answers = asks.map(ask => queues.join(ask))
  expect(queues.depth()).toBe(asks.length)
  expect(await Promise.all(answers)).toEqual(asks.map(({ buyer }) => buyer))
  await queues.drained()
  expect(queues.depth()).toBe(0)
  expect(queues.peak()).toEqual({ depth: asks.length, batch: 10 })
  expect(bounds).toEqual([250, 250, 250, 250])
  for (const batch of batches) expect(new Set(batch.map(buyer => shardOf(buyer, 4))).size).toBe(1)
})

test('a full queue turns away those of its lane and nobody else', async () => {
  const hold = Promise.withResolvers<void>()
  const queues = createQueues<{ buyer: string }, string>(lanesOf(2), 2, queueMax =>
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
  const first = queues.join(of(0)[0]!)
  expect(queues.join(of(0)[1]!)).toBeUndefined()
  expect(queues.join(of(1)[0]!)).toBeDefined()
  hold.resolve()
  expect(await first).toBe(of(0)[0]!.buyer)
  await queues.drained()
})
