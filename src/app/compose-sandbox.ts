/** The sandbox provider's adapters: a payment house that lives in this process. */

import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { createFileStore } from '../payment/sandbox/file-store.ts'
import { createHouseKeys } from '../payment/sandbox/house-keys.ts'
import { openSandboxHouse } from '../payment/sandbox/sandbox-house.ts'
import { handleSandbox } from '../payment/sandbox/sandbox-http.ts'
import { createSandboxProvider } from '../payment/sandbox/sandbox-provider.ts'
import type { Config } from './config.ts'
import { keepSecret } from './secrets.ts'

/** The little payment house in this process. It calls back over real HTTP, to this very server. */
export async function openSandbox(config: Config, log: Log, url: () => string, publicUrl: () => string) {
  const keys = createHouseKeys(keepSecret(config.dataDir, 'sandbox-secret', systemRandom).value)
  const house = await openSandboxHouse({
    store: createFileStore(join(config.dataDir, 'sandbox-payments.jsonl'), log),
    keys,
    clock: systemClock,
    random: systemRandom,
    log,
    callbackUrl: () => `${url()}/api/payments/sandbox/callback`,
  })
  return {
    provider: createSandboxProvider({ house, keys, clock: systemClock, publicUrl }),
    handle: (request: Parameters<typeof handleSandbox>[2]) => handleSandbox(house, keys, request),
    stop: () => house.stop(),
  }
}
