import { expect, test } from 'bun:test'
import { systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { noMeters } from '../base/meters.ts'
import { FlightRecorder } from '../telemetry/flight-recorder.ts'
import { createWatching } from './watching.ts'

test('an alarm and a broken promise are noted and ask for a dump', () => {
  const dumped: string[] = []
  const log: Log = { debug() {}, info() {}, warn() {}, error() {} }
  const flight = new FlightRecorder(systemClock)
  const watching = createWatching(
    {
      meters: noMeters,
      log,
      rounds: { kick() {} } as never,
      clock: systemClock,
      flight,
      dumps: { dumpByItself: why => void dumped.push(why) },
    },
    { orderChanged() {} } as never,
    { byId: async () => undefined },
    { forget() {} },
  )
  watching.alarm('foreign_order_id', { order: '4711', item: '7' })
  watching.onBroken(2)
  expect(dumped).toEqual(['alarm', 'promise'])
  expect(flight.last().map(({ what, about, order }) => [what, about, order])).toEqual([
    ['alarm foreign_order_id', '7', '4711'],
    ['promise 2 broken', '', ''],
  ])
})
