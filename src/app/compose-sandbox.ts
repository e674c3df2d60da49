/** The sandbox payment provider: in this process alone, or in every process of a cluster on payments that all of them share. */

import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { FileStore } from '../payment/sandbox/file-store.ts'
import { PaymentRepository, type SandboxRows } from '../payment/sandbox/payment-repository.ts'
import { Sandbox } from '../payment/sandbox/sandbox.ts'
import { handleSandbox } from '../payment/sandbox/sandbox-http.ts'
import { createSandboxKeys } from '../payment/sandbox/sandbox-keys.ts'
import { createSandboxProvider } from '../payment/sandbox/sandbox-provider.ts'
import type { Config } from './config.ts'
import { ownSecret } from './secrets.ts'

/**
 * It calls back over real HTTP: to this server, or, in a cluster, to any edge behind PUBLIC_URL. `shared`: the payments that all processes of
 * a cluster see; without it they are in the data folder.
 */
export async function openSandbox(
  config: Config,
  log: Log,
  url: () => string,
  publicUrl: () => string,
  shared?: SandboxRows,
) {
  const clock = systemClock
  // In a cluster every edge must know a pay page and a callback's signature that another edge made.
  const keys = createSandboxKeys(ownSecret(config, systemRandom, 'sandbox-secret', 'sandbox'))
  const rows = shared ?? (await FileStore.open(join(config.dataDir, 'sandbox-payments.jsonl'), log))
  const payments = new PaymentRepository(rows, clock)
  const callbackUrl = () => `${shared === undefined ? url() : publicUrl()}/api/payments/sandbox/callback`
  const sandbox = new Sandbox({ payments, keys, clock, random: systemRandom, log, callbackUrl })
  return {
    provider: createSandboxProvider({ sandbox, keys, clock, publicUrl }),
    handle: (request: Request) => handleSandbox(sandbox, keys, request),
    stop: () => sandbox.stop(),
  }
}
