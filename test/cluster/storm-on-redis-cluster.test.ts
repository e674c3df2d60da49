import { describe } from 'bun:test'
import { Cluster } from '../harness/cluster.ts'
import type { Playground } from '../harness/playground.ts'
import { RedisCluster } from '../harness/redis-cluster.ts'
import { stormCases } from '../storm-cases.ts'

const ENV = { REDIS_DURABILITY: 'replica', REDIS_REPLICAS: '1' }

async function start(playground: Playground) {
  const redis = await RedisCluster.start(playground)
  const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 2, redisUrl: redis.url, env: ENV })
  return {
    url: () => cluster.url(),
    server: () => cluster.edges()[0]!.server(),
    quiet: cluster.quiet.bind(cluster),
  }
}

describe('on a Redis Cluster, every item in one place:', () => stormCases(start, 1))
describe('on a Redis Cluster, every item in 8 places over 3 primaries:', () => stormCases(start, 8))
