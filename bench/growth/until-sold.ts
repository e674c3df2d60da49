/** An edge of a cluster learns of a sale a moment after it was published, or is sold again: until then it answers "busy". */

import type { Clock } from '../../src/base/clock.ts'
import { until } from '../../test/harness/until.ts'
import { ACKNOWLEDGED } from '../client/buyers.ts'
import type { ItemOnSale, Stampede } from '../servers/stampede.ts'

const HOUR_MS = 3_600_000
const LOOK_EVERY_MS = 20
let buyers = 0

/** Resolves when an order of this item was acknowledged, by a buyer of its own. */
export async function untilSold(clock: Clock, server: Stampede, on: ItemOnSale, limitMs = 60_000): Promise<void> {
  const buyer = `first-${buyers++}-${clock.now()}`
  const ticket = server.tickets.issue({ ...on, buyer, attempt: 1, notBeforeMs: 0, expiresAtMs: clock.now() + HOUR_MS })
  const told = async () => {
    const { status } = await server.ask(on, ticket)
    if (status === 200 || ACKNOWLEDGED.includes(status)) return true
    await clock.sleep(LOOK_EVERY_MS)
    return false
  }
  await until('an acknowledged order', told, limitMs)
}
