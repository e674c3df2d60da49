import { afterEach, test } from 'bun:test'
import { Playground } from './harness/playground.ts'
import { SOAK_MS, soak } from './soak-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test(
  'a long sale at half of what the server can do: memory flat, no error, and every unit adds up',
  () => soak(playground, { others: 0 }),
  SOAK_MS + 600_000,
)
