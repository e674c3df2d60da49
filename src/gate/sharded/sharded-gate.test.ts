import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { gateContract } from '../gate.contract.ts'
import { createRedisGate } from '../redis/redis-gate.ts'
import { createSettlingGate, together } from './sharded-gate.fixture.ts'

for (const count of [4, 1]) {
  gateContract(`sharded gate, ${count} places`, async () => {
    const own = new Playground()
    const { url } = await startRedis(own)
    const gate = createSettlingGate(createRedisGate({ connection: await connect(own, url) }), count)
    return {
      gate,
      reach: async nowMs => {
        await until(`the gate's clock at ${nowMs}`, async () => (await gate.status([])).nowMs >= nowMs)
      },
      together: (_, buyers) => together(buyers, count),
      close: () => own.undo(),
    }
  })
}
