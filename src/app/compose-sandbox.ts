/** The sandbox payment provider: in this process alone, or in every process of a cluster on payments that all of them share. */

import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { createFileStore } from '../payment/sandbox/file-store.ts'
import { createHouseKeys } from '../payment/sandbox/house-keys.ts'
import { openOwnBooks } from '../payment/sandbox/own-books.ts'
import { openSandboxHouse } from '../payment/sandbox/sandbox-house.ts'
import { handleSandbox } from '../payment/sandbox/sandbox-http.ts'
import { createSandboxProvider } from '../payment/sandbox/sandbox-provider.ts'
import { createSharedBooks, type SharedRows } from '../payment/sandbox/shared-books.ts'
import type { Config } from './config.ts'
import { derivedSecret, keepSecret } from './secrets.ts'

/**
 * It calls back over real HTTP: to this server, or, in a cluster, to any edge behind PUBLIC_URL. `shared`: the payments that all processes of
 * a cluster see; without it they are in the data folder.
 */
export async function openSandbox(
  config: Config,
  log: Log,
  url: () => string,
  publicUrl: () => string,
  shared?: SharedRows,
) {
  const clock = systemClock
  // In a cluster every edge must know a pay page and a callback's signature that another edge made.
  const secret =
    config.redis !== undefined && config.ticketKeys !== undefined
      ? derivedSecret(config.ticketKeys, 'sandbox')
      : keepSecret(config.dataDir, 'sandbox-secret', systemRandom).value
  const keys = createHouseKeys(secret)
  const books =
    shared === undefined
      ? await openOwnBooks({ store: createFileStore(join(config.dataDir, 'sandbox-payments.jsonl'), log), clock })
      : createSharedBooks({ rows: shared, clock })
  const callbackUrl = () => `${shared === undefined ? url() : publicUrl()}/api/payments/sandbox/callback`
  const house = openSandboxHouse({ books, keys, clock, random: systemRandom, log, callbackUrl })
  return {
    provider: createSandboxProvider({ house, keys, clock, publicUrl }),
    handle: (request: Parameters<typeof handleSandbox>[2]) => handleSandbox(house, keys, request),
    stop: () => house.stop(),
  }
}
