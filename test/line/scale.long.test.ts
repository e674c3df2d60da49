import { afterEach, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { crowdInLine } from './scale-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test(
  '100,000 join while an edge is killed, a third leaves: the order is kept, they are let in at the rate that was set, and 10,000 sockets hear at once that it is sold out',
  () => crowdInLine(playground, { people: 100_000, sockets: 10_000, rate: 2_000, forMs: 10_000 }),
  1_200_000,
)
