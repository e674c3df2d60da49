import { expect, test } from 'bun:test'
import { readSlots, readTarget, SLOTS, slotOf } from './slots.ts'

test('keys go where Redis itself would put them', () => {
  // As CLUSTER KEYSLOT answers.
  expect(slotOf('123456789')).toBe(12_739)
  expect(slotOf('foo')).toBe(12_182)
  expect(slotOf('bar')).toBe(5_061)
  expect(slotOf('')).toBe(0)
})

test('what stands between the first braces decides, unless there is nothing', () => {
  expect(slotOf('{foo}:gate')).toBe(slotOf('foo'))
  expect(slotOf('x{foo}{bar}')).toBe(slotOf('foo'))
  expect(slotOf('{}foo')).not.toBe(slotOf('foo'))
  expect(slotOf('foo}{bar')).toBe(slotOf('foo}{bar'))
})

test('a map with holes: slots that nobody has, nodes without an address, nodes at the address that was asked', () => {
  const map = readSlots(
    [
      [0, 99, ['10.0.0.1', 7000, 'a', []], ['10.0.0.2', 7000, 'b', []]],
      [100, 199, ['?', 7001, 'c', []], ['10.0.0.4', 7001, 'd', []]],
      [200, 200, [null, 7002, 'e', []]],
      [201, SLOTS - 1, ['', 7003, 'f', []]],
    ],
    '10.0.0.9',
  )
  const at = [0, 99, 100, 199, 200, 201, SLOTS - 1].map(slot => map.owners[slot])
  const [asked2, asked3] = ['10.0.0.9:7002', '10.0.0.9:7003']
  expect(at).toEqual(['10.0.0.1:7000', '10.0.0.1:7000', undefined, undefined, asked2, asked3, asked3])
  expect([...map.primaries.keys()]).toEqual(['10.0.0.1:7000', asked2, asked3] as string[])
  expect(map.nodes).toHaveLength(5)
  expect(readSlots('nonsense', 'x').primaries.size).toBe(0)
})

test('where a node says that a slot is', () => {
  expect(readTarget('10.0.0.1:7000', 'x')).toEqual({ host: '10.0.0.1', port: 7000 })
  expect(readTarget(':7000', 'x')).toEqual({ host: 'x', port: 7000 })
  expect(readTarget('::1:7000', 'x')).toEqual({ host: '::1', port: 7000 })
  expect(readTarget('?:7000', 'x')).toBeUndefined()
  expect(readTarget('nonsense', 'x')).toBeUndefined()
})
