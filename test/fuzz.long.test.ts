import { afterEach, expect, test } from 'bun:test'
import { fuzz } from './fuzz/fuzz.ts'
import { Playground } from './harness/playground.ts'

const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 1e9))
const playground = new Playground()
afterEach(() => playground.undo())

test('made-up requests are answered as described for two minutes, and never with a 5xx but "busy"', async () => {
  const told = await fuzz(playground, 120_000, SEED)
  console.log(told)
  expect(told).toMatch(/\b201 × \d{2,}/)
}, 300_000)
