/** A store in memory: what the one on disk is compared with, and enough for tests that restart nothing. Can be told to fail or to hang. */

import { Fault } from '../../base/fault.ts'
import type { SandboxPayment } from './sandbox-payment.ts'
import type { SandboxStore } from './sandbox-store.ts'

export function createReferenceStore(): SandboxStore & {
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
