import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { RedisCluster } from '../../../test/harness/redis-cluster.ts'
import { until } from '../../../test/harness/until.ts'
import { seededRandom } from '../../base/random.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { slotOf } from '../../base/redis/slots.ts'
import { PARTITIONS, partitionOf } from '../shared-counts.ts'
import { createRedisSharedCounts } from './redis-shared-counts.ts'

const SOON_MS = 120_000
const RATE = { count: 10, windowMs: 600_000 }

const playground = new Playground()
afterEach(() => playground.undo())

test('a batch is decided by three primaries, every edge is called, and one that dies takes only its own lanes with it', async () => {
  const cluster = await RedisCluster.start(playground)
  const options = { durability: 'replica', replicas: 1, timeoutMs: 20_000 } as const
  const [one, two] = await Promise.all(
    [1, 2].map(async seed => {
      const connection = await connect(playground, cluster.url, options)
      return createRedisSharedCounts({ connection, random: seededRandom(seed) })
    }),
  )
  const called = new Set<string>()
  two!.onJoinRequest((_, id) => called.add(id))
  let probes = 1_000
  const isHeard = async () => {
    await one!.ask([asking(idOf(probes++))])
    return called.size > 0
  }
  await until('a key that the other edge hears of', isHeard, SOON_MS)

  const ids = Array.from({ length: 300 }, (_, n) => idOf(n))
  const answers = await one!.ask(ids.map(id => asking(id, 12)))
  expect(answers.map(answer => answer?.granted)).toEqual(ids.map(() => 6))
  await until('all of them', () => ids.every(id => called.has(id)), SOON_MS)
  expect(await one!.announce()).toEqual(Array.from({ length: PARTITIONS }, () => 1))
  // Who is silent for three seconds is not counted any more: where that took longer, it says again that it is here.
  const bothHere = async () => {
    const seen = await two!.announce()
    if (seen.every(here => here === 2)) return true
    await one!.announce()
    return false
  }
  await until('both to be counted everywhere', bothHere, SOON_MS)

  const tags = Array.from({ length: PARTITIONS }, (_, partition) => `rate:{${partition.toString(16)}}`)
  const owners = await Promise.all(tags.map(tag => cluster.ownerOfKey(tag)))
  const victim = owners[0]!
  const left = owners.flatMap((owner, partition) => (owner === victim ? [] : [partition]))
  expect(left.length).toBeGreaterThan(0)
  // With its replica: nobody takes over.
  const replica = await cluster.replicaOf(slotOf(tags[0]!))
  await Promise.all([replica.kill(), victim.kill()])
  const reached = (await one!.announce()).flatMap((here, partition) => (here === undefined ? [] : [partition]))
  expect(reached).toEqual(left)
  const again = await one!.ask(ids.map(id => asking(id, 1)))
  expect(again.map(answer => answer !== undefined)).toEqual(ids.map(id => left.includes(partitionOf(id))))
}, 300_000)

const idOf = (n: number) => n.toString(16).padStart(16, '0')
const asking = (id: string, want = 1) => ({
  limit: 'orders-per-buyer',
  id,
  rate: RATE,
  want,
  edges: 2,
  kept: 4,
  late: 0,
  joins: [],
})
