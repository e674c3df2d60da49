import { redisModel } from './redis-suites.fixture.ts'

redisModel('redis gate')
