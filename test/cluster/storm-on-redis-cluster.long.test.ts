import { describe } from 'bun:test'
import { stormCases } from '../storm-cases.ts'
import { onRedisCluster } from './storm-on-redis-cluster.ts'

describe('on a Redis Cluster, every item in one shard:', () => stormCases(onRedisCluster, 1))
