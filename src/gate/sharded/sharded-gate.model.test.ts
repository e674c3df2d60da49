import { redisModel } from '../redis/redis-suites.fixture.ts'

redisModel('sharded gate', 3)
