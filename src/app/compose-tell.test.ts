/** The start beside a Kafka that takes connections and never answers. */

import { expect, test } from 'bun:test'
import { systemClock } from '../base/clock.ts'
import { openEventCopies } from './compose-tell.ts'
import { readConfig } from './config/config.ts'

const nothing = () => {}

test('a start waits a few seconds for Kafka, and goes on', async () => {
  const broker = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: nothing } })
  const waited: number[] = []
  /** No wait ever passes but those of a few seconds. */
  const sleep = (ms: number) => {
    waited.push(ms)
    return ms <= 5_000 ? Promise.resolve() : new Promise<void>(nothing)
  }
  const config = readConfig({ KAFKA_BROKERS: `127.0.0.1:${broker.port}` })
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
  const copies = openEventCopies({ config, clock: { ...systemClock, sleep }, log } as never)
  try {
    await copies!.check()
    expect(waited).toContain(5_000)
  } finally {
    broker.stop(true)
    await copies!.close()
  }
})
