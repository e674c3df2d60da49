import { afterEach, describe, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { sleepThrough } from './sleepers-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

describe('a part is stopped for longer than every lease, and Redis is restarted meanwhile; when it wakes it does nothing under an old epoch:', () => {
  for (const role of ['edge', 'keeper'] as const) {
    test(role, () => sleepThrough(playground, role), 300_000)
  }
})
