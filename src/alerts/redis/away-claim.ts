/** Which process tells that the ledger is away, while the ledger cannot say it: one key in Redis, which ends by itself. */

import { assert } from '../../base/assert.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import { scriptsIn } from '../../base/redis/script.ts'

const KEY = 'alerts:ledger_away'

/** True: this process may, for so long. Rejects with a Fault where Redis does not answer. */
export function createAwayClaim(connection: Pick<RedisConnection, 'run'>): (forMs: number) => Promise<boolean> {
  const claim = scriptsIn(new URL('./scripts/', import.meta.url))('claim', 'grows')
  return async forMs => {
    const answer = await connection.run(claim, [KEY], [forMs])
    assert(answer === 0 || answer === 1, `a script answered ${JSON.stringify(answer)}`)
    return answer === 1
  }
}
