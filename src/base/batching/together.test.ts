import { expect, test } from 'bun:test'
import { together } from './together.ts'

test('asks that come together or while a call is under way share a call; none is answered by a call that began before it', async () => {
  const calls: number[][] = []
  const under = Promise.withResolvers<void>()
  const double = together<number, number>(3, async asks => {
    calls.push([...asks])
    if (calls.length === 1) await under.promise
    return asks.map(ask => ask * 2)
  })
  const first = [double(1), double(2)]
  await Promise.resolve()
  await Promise.resolve()
  const later = [3, 4, 5, 6].map(double)
  under.resolve()
  expect(await Promise.all([...first, ...later])).toEqual([2, 4, 6, 8, 10, 12])
  expect(calls).toEqual([[1, 2], [3, 4, 5], [6]])
})
