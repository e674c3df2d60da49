import { afterEach, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { stormWithLine } from './line-storm-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test(
  'a sale with a line on a cluster, an edge killed and Redis away in the middle: every promise holds, and everybody keeps the number',
  () => stormWithLine(playground, ['edge', 'redis']),
  300_000,
)
