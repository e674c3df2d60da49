import { holdCountsSuite } from './hold-counts.contract.ts'
import { MemoryHoldCounts } from './memory-hold-counts.ts'

holdCountsSuite('in memory', async () => {
  const time = { nowMs: 1_800_000_000_000 }
  return { counts: new MemoryHoldCounts({ elapsed: () => time.nowMs }), time }
})
