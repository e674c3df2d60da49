/** The sandbox provider's adapters: a payment house that lives in this process, alone or as one door of a house that a cluster shares. */

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
 * It calls back over real HTTP: to this very server, or, in a cluster that says how the world reaches it, to whichever edge is behind
 * that address. `shared`: where all processes of a cluster see the same payments; without it they are in this data folder.
 */
export async function openSandbox(
  config: Config,
  log: Log,
  url: () => string,
  publicUrl: () => string,
  shared?: SharedRows,
) {
  const clock = systemClock
  const keys = createHouseKeys(secretOf(config))
  const books =
    shared === undefined
      ? await openOwnBooks({ store: createFileStore(join(config.dataDir, 'sandbox-payments.jsonl'), log), clock })
      : createSharedBooks({ rows: shared, clock })
  const house = openSandboxHouse({
    books,
    keys,
    clock,
    random: systemRandom,
    log,
    callbackUrl: () => `${shared === undefined ? url() : publicUrl()}/api/payments/sandbox/callback`,
  })
  return {
    provider: createSandboxProvider({ house, keys, clock, publicUrl }),
    handle: (request: Parameters<typeof handleSandbox>[2]) => handleSandbox(house, keys, request),
    stop: () => house.stop(),
  }
}

/** A pay page made by one edge must be known at every other, and so must a callback's signature. */
function secretOf(config: Config): string {
  return config.redis !== undefined && config.ticketKeys !== undefined
    ? derivedSecret(config.ticketKeys, 'sandbox')
    : keepSecret(config.dataDir, 'sandbox-secret', systemRandom).value
}
