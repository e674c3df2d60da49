import { expect, test } from 'bun:test'
import { eachOf } from './each-of.ts'
import { Fault } from './fault.ts'

test('no more than so many are under way at once, and all have their turn', async () => {
  let underWay = 0
  let most = 0
  const seen: number[] = []
  await eachOf([1, 2, 3, 4, 5], 2, async one => {
    underWay += 1
    most = Math.max(most, underWay)
    await Promise.resolve()
    underWay -= 1
    seen.push(one)
  })
  expect(seen).toEqual([1, 2, 3, 4, 5])
  expect(most).toBe(2)
})

test('a fault holds up no other and is thrown at the end; of several the first', async () => {
  const seen: number[] = []
  const work = eachOf([1, 2, 3, 4], 1, async one => {
    seen.push(one)
    if (one > 1) throw new Fault(`fault_${one}`, 'away')
  })
  await expect(work).rejects.toMatchObject({ code: 'fault_2' })
  expect(seen).toEqual([1, 2, 3, 4])
})

test('a bug is thrown at once', async () => {
  const seen: number[] = []
  const work = eachOf([1, 2], 1, async one => {
    seen.push(one)
    throw new Error('bug')
  })
  await expect(work).rejects.toThrow('bug')
  expect(seen).toEqual([1])
})
