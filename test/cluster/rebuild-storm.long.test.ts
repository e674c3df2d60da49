import { afterEach, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { rebuildStorm } from './rebuild-storm-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('Redis restarted every 2 s for a minute, empty and with an old file, with closings and two keepers', async () => {
  await rebuildStorm(playground, 60_000)
}, 400_000)
