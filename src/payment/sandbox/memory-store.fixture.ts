/** Rows in memory: the reference for those on disk, and enough for tests without restarts. Can be made to fail or to hang. */

import { Fault } from '../../base/fault.ts'
import type { SandboxRow, SandboxRows } from './payment-repository.ts'

export function createMemoryStore() {
  const kept = new Map<string, SandboxRow>()
  const failing: { now: boolean; hanging?: Promise<void> } = { now: false }
  const store = {
    failing,
    refs: () => [...kept.keys()],
    read: async ref => kept.get(ref)?.text,
    async replace(ref, before, row) {
      if (failing.now) throw new Fault('sandbox_store_failed', 'the store was told to fail', { outcomeUnknown: true })
      if (failing.hanging !== undefined) await failing.hanging
      if (kept.get(ref)?.text !== before) return false
      kept.set(ref, row)
      return true
    },
    count: async () => kept.size,
    async forget(madeBeforeMs) {
      const old = [...kept].filter(([, row]) => row.over && row.madeAtMs < madeBeforeMs)
      for (const [ref] of old) kept.delete(ref)
      return old.length
    },
  } satisfies SandboxRows & Record<string, unknown>
  return store
}
