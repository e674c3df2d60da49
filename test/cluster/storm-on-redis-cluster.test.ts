import { describe } from 'bun:test'
import { stormCases } from '../storm-cases.ts'
import { onRedisCluster } from './storm-on-redis-cluster.ts'

describe('on a Redis Cluster, every item in 8 shards over 3 primaries:', () => stormCases(onRedisCluster, 8))
