/** A store in memory: the reference for the one on disk, and enough for tests without restarts. Can be made to fail or to hang. */

import { Fault } from '../../base/fault.ts'
import type { SandboxStore } from './local-repository.ts'
import type { SandboxPayment } from './sandbox-payment.ts'

export function createMemoryStore(): SandboxStore & {
  readonly failing: { now: boolean; hanging?: Promise<void> }
} {
  const kept = new Map<string, SandboxPayment>()
  const failing: { now: boolean; hanging?: Promise<void> } = { now: false }
  return {
    failing,
    load: async () => [...kept.values()],
    async save(payment) {
      if (failing.now) throw new Fault('sandbox_store_failed', 'the store was told to fail', { outcomeUnknown: true })
      if (failing.hanging !== undefined) await failing.hanging
      kept.set(payment.ref, payment)
    },
    async forget(refs) {
      for (const ref of refs) kept.delete(ref)
    },
    close: async () => {},
  }
}
