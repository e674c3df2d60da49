import { afterEach, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { rebuildStorm } from './rebuild-storm-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('Redis restarted every 2 s, empty and with an old file, with closings and two keepers: gate = ledger = units − live at the end', async () => {
  await rebuildStorm(playground, 14_000)
}, 300_000)
