import { redisContract } from '../redis/redis-suites.fixture.ts'

for (const shards of [4, 1]) redisContract(`sharded gate, shards: ${shards}`, { shards })
