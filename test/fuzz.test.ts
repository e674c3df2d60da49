import { afterEach, expect, test } from 'bun:test'
import { fuzz } from './fuzz/fuzz.ts'
import { Playground } from './harness/playground.ts'

/** The same in every run: what a new one finds must not stop a change that has nothing to do with it. The long run draws its own. */
const SEED = Number(process.env.FUZZ_SEED ?? 20_260_801)
const playground = new Playground()
afterEach(() => playground.undo())

test('made-up requests are answered as described for 15 seconds, and never with a 5xx but "busy"', async () => {
  const told = await fuzz(playground, 15_000, SEED)
  console.log(told)
  // It got past the front door.
  expect(told).toMatch(/\b200 × \d{2,}/)
  expect(told).toMatch(/\b201 × \d{2,}/)
}, 300_000)
