import { afterEach, describe, expect, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { rehearseWithFault } from './rehearsal-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

describe('100,000 buyers against npm run cluster, with a part killed in the middle:', () => {
  for (const fault of ['redis', 'worker', 'edge', 'keeper', 'postgres']) {
    test(fault, async () => {
      const { sentence } = await rehearseWithFault(playground, { buyers: 100_000, units: 1_000, fault })
      console.log(`  ${sentence}`)
      expect(sentence).toContain('sold 1,000 of 1,000')
    }, 300_000)
  }
})
