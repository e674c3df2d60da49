import { gateModel } from '../gate-model.contract.ts'
import { MODEL_SEED } from '../gate-model.fixture.ts'
import { MemoryGate } from './memory-gate.ts'

gateModel('memory gate', {
  seed: MODEL_SEED,
  lives: 6_000,
  stepsMax: 60,
  async begin() {
    let nowMs = 10_000
    const gate = new MemoryGate({ now: () => nowMs, elapsed: () => 0, sleep: async () => {} })
    const moveClock = (ms: number) => {
      nowMs += ms
    }
    return { item: '77', gate, localView: gate, clock: 'stands', nowMs, moveClock }
  },
})
