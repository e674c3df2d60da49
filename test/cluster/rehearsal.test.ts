import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { rehearseWithFault } from './rehearsal-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('npm run cluster, and a rehearsal against it with Redis killed in the middle: green, and nothing left running', async () => {
  const { sentence } = await rehearseWithFault(playground, { buyers: 3_000, units: 200, fault: 'redis' })
  expect(sentence).toContain('sold 200 of 200')
}, 480_000)
