import { afterEach, test } from 'bun:test'
import { Playground } from './harness/playground.ts'
import { SOAK_ITEMS, SOAK_MS, soak } from './soak-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('the same among 10,000 items on sale', () => soak(playground, { others: SOAK_ITEMS - 1 }), SOAK_MS + 1_200_000)
