/** A message log that can't be opened, and one whose broker takes connections and never answers. */

import { expect, test } from 'bun:test'
import { systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { systemRandom } from '../../base/random.ts'
import { openLog, settingsOf, topicSpec } from './kafka-log.fixture.ts'
import { openMessageLog } from './kafka-log.ts'

const nothing = () => {}
const log: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

test('a log that can not be opened: its calls and its member say why, and it can be stopped and closed', async () => {
  const unopened = openLog({ brokers: undefined } as never)
  const member = unopened.join({
    group: 'g',
    topic: 't',
    batchMax: () => 1,
    partitionsAtOnceMax: () => 1,
    handle: async () => {},
  })
  await expect(unopened.ping()).rejects.toThrow(TypeError)
  expect(() => member.check()).toThrow(TypeError)
  await member.stop()
  await unopened.close()
})

test('topics are given up after 30 s in all, whatever the calls do', async () => {
  const broker = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: nothing } })
  // Only the limit of the whole, and that of closing, ever pass.
  const sleep = (ms: number) => (ms === 30_000 || ms === 2_000 ? Promise.resolve() : new Promise<void>(nothing))
  const clock = { ...systemClock, sleep }
  const silent = openMessageLog(settingsOf({ brokers: `127.0.0.1:${broker.port}` }), {
    clock,
    random: systemRandom,
    log,
  })
  try {
    await expect(silent.prepare([topicSpec('t', 1)])).rejects.toThrow('no answer of Kafka within 30000 ms: the topics')
  } finally {
    broker.stop(true)
    await silent.close()
  }
})
