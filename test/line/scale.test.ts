import { afterEach, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { crowdInLine } from './scale-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test(
  '5,000 join while an edge is killed, a third leaves: the order is kept, they are let in at the rate that was set, and 500 sockets hear at once that it is sold out',
  () => crowdInLine(playground, { people: 5_000, sockets: 500, rate: 400, forMs: 3_000 }),
  300_000,
)
