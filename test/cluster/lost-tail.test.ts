import { afterEach, expect, test } from 'bun:test'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { startRedis } from '../harness/redis.ts'
import { until, within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const UNITS = 400
const BUYERS = 440
const SOON_MS = 120_000

const playground = new Playground()
afterEach(() => playground.undo())

/**
 * The worst that asynchronous replication can do: a replica that has seen nothing for a while becomes the primary, and later the first
 * server comes back with what it had. The edges live, so nothing that was acknowledged may be lost (E1, E6).
 */
test('a replica that was cut off is promoted after acknowledgements, then the first server comes back: nobody who was told has lost anything', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1, roads: true })
  const { redis, members } = cluster
  const replica = await startRedis(playground)
  await replica.command('REPLICAOF', '127.0.0.1', String(redis.port))
  await until('a replica in step', async () =>
    String(await replica.command('INFO', 'replication')).includes('link_status:up'),
  )
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
  await until('a replica that has the item', async () =>
    String(await replica.command('KEYS', `{${stage.item}}:gate`)).includes(stage.item),
  )

  const buying = meanwhile(stage.everybodyBuys())
  await within('a tenth of it sold', SOON_MS, stage.shop.placed(UNITS / 10))
  // From here on the replica hears nothing any more, and the primary goes on acknowledging.
  await replica.command('REPLICAOF', 'NO', 'ONE')
  // No worker places them meanwhile: but for the memory of the edges, what is acknowledged now is in this Redis and nowhere else.
  const [worker] = cluster.of('worker')
  worker?.freeze()
  const reserved = () => stage.shop.told.filter(told => told.answer.kind === 'reserved').length
  await until('acknowledgements that only this Redis has', () => reserved() >= UNITS / 8, SOON_MS)
  await redis.kill()
  for (const member of members) member.redisRoad?.turn({ port: replica.port })
  worker?.wake()
  const sold = stage.shop.placedSoFar()
  console.log(`  ${sold} of ${UNITS} sold when the replica takes over`)
  await within('a quarter more of it sold, by the replica', SOON_MS, stage.shop.placed(sold + UNITS / 4))

  // And back: the first server has its old file, and neither of the two knows what the other has sold.
  await replica.kill()
  await redis.start()
  for (const member of members) member.redisRoad?.turn({ port: redis.port })
  const outcomes = await within('everybody has an answer', 120_000, buying)
  const facts = await stage.judge(outcomes)
  expect((facts.orders ?? []).filter(order => order.reason === 'refused' && order.supersededBy === undefined)).toEqual(
    [],
  )
}, 300_000)
