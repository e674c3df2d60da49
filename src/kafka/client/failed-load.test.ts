/** A message log that could not be opened tells those who use it, and is closed without a word. */

import { expect, test } from 'bun:test'
import { openLog } from './kafka-log.fixture.ts'

test('a log that can not be opened: its calls and its member say why, and it can be stopped and closed', async () => {
  const log = openLog({ brokers: undefined } as never)
  const member = log.join({
    group: 'g',
    topic: 't',
    batchMax: () => 1,
    partitionsAtOnceMax: () => 1,
    handle: async () => {},
  })
  await expect(log.ping()).rejects.toThrow(TypeError)
  expect(() => member.check()).toThrow(TypeError)
  await member.stop()
  await log.close()
})
