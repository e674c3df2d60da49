/** For the storms: two edges, workers and keepers on a Redis Cluster of three primaries and three replicas. */

import { Cluster } from '../harness/cluster.ts'
import type { Playground } from '../harness/playground.ts'
import { RedisCluster } from '../harness/redis-cluster.ts'

const ENV = { REDIS_DURABILITY: 'replica', REDIS_REPLICAS: '1' }

export async function onRedisCluster(playground: Playground) {
  const redis = await RedisCluster.start(playground)
  const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 2, redisUrl: redis.url, env: ENV })
  return {
    url: () => cluster.url(),
    server: () => cluster.edges()[0]!.server(),
    quiet: cluster.quiet.bind(cluster),
  }
}
