/** Attacks on "everything is bounded": what a crowd costs while nobody can be refused cheaply. */

import { afterEach, expect, test } from 'bun:test'
import { ask, codes, ITEM, openItem } from '../../src/gate/redis/redis-gate.fixture.ts'
import { Playground } from '../harness/playground.ts'
import { startRedis } from '../harness/redis.ts'

const CROWD = 9_000

const playground = new Playground()
afterEach(() => playground.undo())

test('while everybody may have an order, a crowd that asks after it does not keep those who buy waiting', async () => {
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
  // Whoever was not answered is told to ask again, never that there is nothing.
  expect([...new Set(await crowd)].sort()).toEqual(['ok', 'unknown'])
  expect(await gate.find(ITEM, 'somebody')).toMatchObject({ status: 'ok', holdings: [{ buyer: 'somebody' }] })
})
