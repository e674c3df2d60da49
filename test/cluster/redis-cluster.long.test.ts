import { afterEach, expect, test } from 'bun:test'
import { seededRandom, systemRandom } from '../../src/base/random.ts'
import { slotOf } from '../../src/base/redis/slots.ts'
import type { Told } from '../../src/domain/promises/snapshot.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { RedisCluster } from '../harness/redis-cluster.ts'
import { until, within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const SALES = 3
const UNITS = 320
const PER_ROUND = 45
const SOON_MS = 120_000
const ENV = { REDIS_DURABILITY: 'replica', REDIS_REPLICAS: '1' }
const EVENTS = ['killed', 'asleep', 'replaced by order', 'robbed of its slot'] as const
/** Each of them twice, in an order that the seed decides. */
const ROUNDS = 2 * EVENTS.length

const playground = new Playground()
afterEach(() => playground.undo())

test('Redis Cluster: round after round a primary is killed, falls asleep, is replaced, or loses a slot, under three sales', async () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  const random = seededRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!
  console.log(`  seed ${seed}`)
  const events = [...EVENTS, ...EVENTS].map(event => ({ event, at: random.next() })).toSorted((a, b) => a.at - b.at)
  const redis = await RedisCluster.start(playground, { nodeTimeoutMs: 1_500 })
  const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 2, redisUrl: redis.url, env: ENV })
  const stages: Stage[] = []
  for (let i = 0; i < SALES; i++)
    stages.push(await Stage.set(cluster, { units: UNITS, buyers: ROUNDS * PER_ROUND, atATime: 6 }))
  const outcomes: Told[][] = stages.map(() => [])

  for (let round = 0; round < ROUNDS; round++) {
    const slice = [round * PER_ROUND, (round + 1) * PER_ROUND] as const
    const buying = meanwhile(Promise.all(stages.map(stage => stage.everybodyBuys(stage.tickets.slice(...slice)))))
    const slot = slotOf(pick(stages).item)
    const owner = await redis.ownerOf(slot)
    const { event } = events[round]!
    console.log(`  round ${round}: the primary of slot ${slot} is ${event}`)
    switch (event) {
      case 'killed':
        await owner.kill()
        await redis.failedOver(slot, owner)
        await owner.start()
        break
      case 'asleep':
        process.kill(owner.pid, 'SIGSTOP')
        await until('an heir', async () => (await redis.ownerSeenBy(slot, owner)) !== owner, SOON_MS)
        process.kill(owner.pid, 'SIGCONT')
        break
      case 'replaced by order':
        await (await redis.replicaOf(slot)).command('CLUSTER', 'FAILOVER')
        await redis.failedOver(slot, owner)
        break
      case 'robbed of its slot':
        await redis.moveSlot(slot, await redis.anotherThan(slot))
    }
    const told = await within('everybody of this round has an answer', SOON_MS, buying)
    for (const [i, some] of told.entries()) outcomes[i]!.push(...some)
    await redis.whole()
  }
  for (const [i, stage] of stages.entries()) await stage.judge(outcomes[i]!)
  expect(redis.nodes.every(node => node.running())).toBe(true)
}, 900_000)
