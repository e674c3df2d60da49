import { describe, expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import type { Gate } from '../../gate/gate.ts'
import type { Outbox, Partition, QueuedAsk } from '../../gate/outbox.ts'
import { shardIdsOf } from '../../gate/shard-ids.ts'
import { createShardCounts } from '../../gate/sharded/shard-counts.ts'
import { createShardedOutbox } from '../../gate/sharded/sharded-outbox.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

/** Over the four shards of the item, and the one it may have had before. */
function outboxOf(item: string, gate: Pick<Gate, 'release'> = stage.gate): Outbox {
  const counts = createShardCounts()
  counts.learn(item, { shards: 4, epoch: 1, gateShards: 4 })
  return createShardedOutbox(stage.outbox, gate, counts)
}

const ask = (buyer: string): QueuedAsk => ({
  order: ledger.id(),
  buyer,
  attempt: 1,
  quantity: 1,
  reservedAtMs: systemClock.now(),
})

describe('a worker on an item in several shards', () => {
  test('places what waits in each of them as orders of the item, and gives refused units back to where they were taken', async () => {
    const { sale, item, epoch } = await ledger.openItem({ units: 3, shards: 4 })
    const released: string[] = []
    const gate: Pick<Gate, 'release'> = {
      async release(shard, _, releases) {
        for (const { buyer } of releases) released.push(`${shard} ${buyer}`)
        return { status: 'done' }
      },
    }
    const shards = [item, ...shardIdsOf(item, 4)]
    for (const [i, shard] of shards.entries()) stage.put(shard, epoch, [ask(`buyer-${i}`)])
    const worker = stage.worker('w', item, { outbox: outboxOf(item, gate) })
    await worker.work()
    await worker.idle()
    const orders = await ledger.orders.list({ sale, limit: 10 })
    expect(orders.map(order => order.item)).toEqual(shards.map(() => item))
    const refused = orders.filter(order => order.reason === 'refused').map(order => order.buyer)
    expect(refused).toHaveLength(2)
    expect(released.toSorted()).toEqual(refused.map(buyer => `${shards[Number(buyer.at(-1))]} ${buyer}`).toSorted())
    expect(await stage.outbox.depth(shards)).toMatchObject(shards.map(() => ({ entries: 0 })))
  })

  test('writes a letter for every entry that it can’t read, also when two shards have given theirs the same id', async () => {
    const { item, epoch } = await ledger.openItem({ units: 3, shards: 4 })
    const shards = shardIdsOf(item, 4)
    for (const shard of shards)
      stage.entries.set(shard, [{ id: '1700000000000-0', epoch, asks: undefined, raw: `of ${shard}` }])
    const worker = stage.worker('w', item, { outbox: outboxOf(item) })
    await worker.work()
    expect(worker.alarms).toEqual(shards.map(() => 'dead_letter'))
    const letters = (await ledger.deadLetters(100)).filter(letter => letter.item === item)
    expect(letters.map(({ raw }) => raw).toSorted()).toEqual(shards.map(shard => `of ${shard}`))
  })

  test('leaves no shard waiting for as long as others have something again and again', async () => {
    const { item, epoch } = await ledger.openItem({ units: 100, shards: 4 })
    const shards = shardIdsOf(item, 4)
    const placed: string[] = []
    let more = 40
    const { orders } = ledger
    /** As the gate does it: the entry, and the message of it. */
    const reserveNext = (shard: string, buyer: string) => {
      stage.put(shard, epoch, [ask(buyer)])
      const partition = shard as Partition
      stage.hear({ kind: 'reserved', item, partition, epoch, version: 2, left: 1, buyers: [buyer] })
    }
    const worker = stage.worker('w', item, {
      outbox: outboxOf(item),
      orders: {
        ...orders,
        place(...words) {
          // In the order they are called: two are at the ledger at once, and which of them it answers first is not the worker's doing.
          for (const { buyer } of words[3]) {
            placed.push(buyer)
            // A buyer of this shard is followed by the next, before the worker is back for more.
            if (more > 0) reserveNext(shards[Number(buyer.at(-1))]!, `buyer ${more--} of ${buyer.at(-1)}`)
          }
          return orders.place(...words)
        },
      },
    })
    for (const [i, shard] of shards.entries()) stage.put(shard, epoch, [ask(`first of ${i}`)])
    await worker.work()
    expect(placed).toHaveLength(44)
    expect(placed.slice(0, 12)).toEqual(expect.arrayContaining(shards.map((_, i) => `first of ${i}`)))
  })

  test('has few of its shards at the ledger at once, and says of the item what it holds of any of them', async () => {
    const { item, epoch } = await ledger.openItem({ units: 10, shards: 4 })
    const shards = shardIdsOf(item, 4)
    for (const [i, shard] of shards.entries()) stage.put(shard, epoch, [ask(`buyer-${i}`)])
    const hold = Promise.withResolvers<void>()
    let atOnce = 0
    let most = 0
    const { orders } = ledger
    const worker = stage.worker('w', item, {
      outbox: outboxOf(item),
      orders: {
        ...orders,
        async place(...words) {
          atOnce += 1
          most = Math.max(most, atOnce)
          await hold.promise
          atOnce -= 1
          return orders.place(...words)
        },
      },
    })
    expect(worker.holdsOlder(item, epoch + 1)).toBe(false)
    await worker.round()
    await until('two are placing', () => atOnce === 2)
    expect(worker.holdsOlder(item, epoch + 1)).toBe(true)
    expect(worker.holdsOlder(item, epoch)).toBe(false)
    hold.resolve()
    await worker.idle()
    expect(most).toBe(2)
    expect(worker.holdsOlder(item, epoch + 1)).toBe(false)
    expect(await stage.outbox.depth(shards)).toMatchObject(shards.map(() => ({ entries: 0 })))
  })
})
