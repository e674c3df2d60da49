/** Kafka in the middle on three brokers, of which one dies in mid-sale: the others go on at once, and nothing is lost when it is back. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { Admin } from '@platformatic/kafka'
import { meanwhile } from '../harness/crowd.ts'
import { startKafkas } from '../harness/kafka.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'
import { allCommitted, expectInOrder, startKafkaCluster, withLog } from './kafka-cluster.ts'
import { Stage } from './stage.ts'

setDefaultTimeout(600_000)

const playground = new Playground()
afterEach(() => playground.undo())

/** Of each partition of a topic: who leads it, and which replicas are in sync. */
async function partitionsOf(brokers: string, topic: string) {
  const admin = new Admin({ clientId: 'operator', bootstrapBrokers: brokers.split(','), retries: 3 })
  try {
    return (await admin.metadata({ topics: [topic], forceUpdate: true })).topics.get(topic)?.partitions ?? []
  } finally {
    await admin.close()
  }
}

test('three brokers, and the one that leads the item is killed under load: orders go on without it, and it comes back in sync', async () => {
  const kafkas = await startKafkas(playground, 3)
  const brokers = kafkas.map(one => one.brokers).join()
  const flow = await startKafkaCluster(playground, brokers)
  const { cluster, topic } = flow
  const made = await partitionsOf(brokers, topic)
  // Three replicas, two of which must have a message before it counts: one broker may be away.
  expect(made.map(({ replicas }) => replicas.length)).toEqual([3, 3, 3])

  const stage = await Stage.set(cluster, { units: 300, buyers: 320, atATime: 8 })
  const number = await withLog(flow, async log => log.partitionOf(topic, stage.item))
  const third = Math.ceil(stage.tickets.length / 3)
  const outcomes = await stage.everybodyBuys(stage.tickets.slice(0, third))
  const leader = made[number]!.leader
  const dead = kafkas[leader - 1]!
  const buying = meanwhile(stage.everybodyBuys(stage.tickets.slice(third, 2 * third)))
  await dead.kill()
  outcomes.push(...(await buying))
  await until('another leads', async () => {
    const now = await partitionsOf(brokers, topic).catch(() => [])
    return now[number] !== undefined && now[number].leader >= 0 && now[number].leader !== leader
  })
  await allCommitted(flow)
  await dead.start()
  outcomes.push(...(await stage.everybodyBuys(stage.tickets.slice(2 * third))))
  await stage.judge(outcomes)
  await expectInOrder(cluster)
  await allCommitted(flow)
  await until('all replicas in sync again', async () =>
    (await partitionsOf(brokers, topic).catch(() => [])).every(({ isr }) => isr.length === 3),
  )
})
