/** Promise 8: what a crowd costs the gate while none of it can be refused without asking Redis. */

import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { ask, codes, ITEM, openItem } from './redis-gate.fixture.ts'

const CROWD = 9_000

const playground = new Playground()
afterEach(() => playground.undo())

test('9,000 buyers who ask for their orders do not delay the buyers who reserve', async () => {
  const { gate } = await openItem(playground, (await startRedis(playground)).url)
  let answered = 0
  const crowd = Promise.all(
    Array.from({ length: CROWD }, async (_, i) => {
      const { status } = await gate.find(ITEM, `nobody-${i}`)
      if (status === 'ok') answered += 1
      return status
    }),
  )
  expect(codes(await gate.reserve(ITEM, 1, [ask('somebody')]))).toEqual(['reserved'])
  expect(answered, 'questions that were answered before').toBeLessThan(CROWD / 10)
  // A buyer whose question was not answered is told to ask again, never that there is nothing.
  expect([...new Set(await crowd)].sort()).toEqual(['ok', 'unknown'])
  expect(await gate.find(ITEM, 'somebody')).toMatchObject({ status: 'ok', holdings: [{ buyer: 'somebody' }] })
})
