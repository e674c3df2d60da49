/**
 * A process that wants the lock and prints what happens, a line each: `holds`, `holds not`, `lost`. Reads it in every iteration of its
 * loop, so that the first line after a long sleep is what a flow would read. argv: the connection as JSON.
 */

import { systemClock } from '../../../base/clock.ts'
import { createDatabase } from './database.ts'
import { ALONE_LANES } from './lanes.ts'
import { createLeaderLock } from './leader-lock.ts'

const database = createDatabase({
  connection: JSON.parse(process.argv[2] ?? '{}'),
  lanes: ALONE_LANES,
  onError: () => {},
})
const leader = createLeaderLock(database, systemClock)
leader.onLost(() => console.log('lost'))
await leader.acquire(new AbortController().signal, () => {})
for (let said: boolean | undefined; ; ) {
  const holds = leader.holds()
  if (holds !== said) console.log(holds ? 'holds' : 'holds not')
  said = holds
  await systemClock.sleep(20)
}
