import { afterEach, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { stormWithLine } from './line-storm-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test(
  'a sale with a line on a cluster, each part killed in turn and Redis away twice: every promise holds, and everybody keeps the number',
  () => stormWithLine(playground, ['redis', 'edge', 'keeper', 'worker', 'redis', 'keeper', 'edge']),
  600_000,
)
