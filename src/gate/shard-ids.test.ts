import { describe, expect, test } from 'bun:test'
import { SHARDS_MAX } from '../domain/item.ts'
import { isShardId, itemOf, shardIdFor, shardIdsOf, shardOf } from './shard-ids.ts'
import { createShardCounts } from './sharded/shard-counts.ts'

describe('where a buyer goes', () => {
  // Written down once. A change here sends buyers of a running sale to shards that do not know them.
  test.each([
    ['a', 1, 7, 39],
    ['b', 1, 1, 17],
    ['buyer-1', 0, 6, 38],
    ['buyer-2', 1, 7, 31],
    ['00000000-0000-4000-8000-000000000000', 0, 6, 30],
    ['買い手', 1, 7, 39],
    ['🐎', 0, 6, 6],
    ['x'.repeat(128), 0, 0, 40],
  ])('%p is the same for all versions', (buyer, of2, of8, of64) => {
    expect([shardOf(buyer, 2), shardOf(buyer, 8), shardOf(buyer, 64)]).toEqual([of2, of8, of64])
    expect(shardIdFor('7', 8, buyer)).toBe(`7#${of8}`)
    expect(shardIdFor('7', 1, buyer)).toBe('7')
  })

  for (const [what, name] of [
    ['counted', (i: number) => String(i)],
    ['counted with a tail', (i: number) => `${i}@shop.example`],
    ['counted in steps of 64', (i: number) => `user-${i * 64}`],
    ['hexadecimal', (i: number) => `${(i * 2654435761).toString(16).padStart(12, '0')}-4000-8000`],
    ['beyond Latin', (i: number) => `買${String.fromCodePoint(0x1f40e + (i % 50))}${i}`],
  ] as const) {
    test(`names that are ${what} spread evenly over any number of shards`, () => {
      for (const shards of [2, 3, 7, 8, 16, 61, SHARDS_MAX]) {
        const counts = new Array<number>(shards).fill(0)
        const each = 500
        for (let i = 0; i < each * shards; i++) counts[shardOf(name(i), shards)]! += 1
        const chiSquared = counts.reduce((sum, count) => sum + (count - each) ** 2 / each, 0)
        // Beyond six standard deviations of what chance gives.
        expect([shards, chiSquared < shards - 1 + 6 * Math.sqrt(2 * (shards - 1)) + 6]).toEqual([shards, true])
      }
    })
  }
})

describe('the names of shards', () => {
  test('one shard is named like the item, several are numbered, and the item can be told from each', () => {
    expect(shardIdsOf('7', 1)).toEqual(['7'])
    expect(shardIdsOf('7', 3)).toEqual(['7#0', '7#1', '7#2'])
    expect([...shardIdsOf('7', 1), ...shardIdsOf('7', SHARDS_MAX)].every(id => itemOf(id) === '7')).toBe(true)
    for (const shards of [0, -1, 1.5, SHARDS_MAX + 1]) expect(() => shardIdsOf('7', shards)).toThrow()
  })

  test('only what can be a shard is taken for one', () => {
    for (const id of ['7', '7#0', '7#9', '7#10', '7#63', '9223372036854775807#63'])
      expect([id, isShardId(id)]).toEqual([id, true])
    for (const id of [
      '',
      '#',
      '7#',
      '#1',
      '7#64',
      '7#01',
      '7#-1',
      '7#1#1',
      '7#1 ',
      '07#1',
      'a#1',
      '7#100',
      '9223372036854775808#1',
    ])
      expect([id, isShardId(id)]).toEqual([id, false])
  })
})

describe('how many shards an item has', () => {
  test('is known of the epochs that were read, and of no other', () => {
    const shards = createShardCounts()
    expect([shards.of('7', 1), shards.all('7'), shards.recent('7')]).toEqual([undefined, undefined, []])
    shards.learn('7', { shards: 3, epoch: 4, gateShards: 3 })
    shards.learn('7', { shards: 3, epoch: 5, gateShards: 1 })
    shards.learn('7', { shards: 3, epoch: 4, gateShards: 3 })
    expect([3, 4, 5, 6].map(epoch => shards.of('7', epoch))).toEqual([undefined, 3, 1, undefined])
    expect(shards.recent('7')).toEqual([1, 3])
    expect(shards.all('7')).toEqual(['7', '7#0', '7#1', '7#2'])
    shards.forget('7')
    expect([shards.of('7', 5), shards.all('7')]).toEqual([undefined, undefined])
  })

  test('an item with one shard has one under every epoch', () => {
    const shards = createShardCounts()
    shards.learn('7', { shards: 1, epoch: 2, gateShards: 1 })
    expect([shards.of('7', 1), shards.of('7', 99), shards.all('7'), shards.recent('7')]).toEqual([1, 1, ['7'], [1]])
  })

  test('epochs that were not read lately are forgotten, those that are read again and again are not', () => {
    const shards = createShardCounts()
    for (const epoch of [1, 2, 3, 1, 9, 4, 1, 5]) shards.learn('7', { shards: 2, epoch, gateShards: 2 })
    const known = [1, 2, 3, 4, 5, 9].map(epoch => shards.of('7', epoch))
    expect(known).toEqual([2, undefined, undefined, 2, 2, 2])
  })

  test('two numbers of shards under one epoch, or one in between, are a bug', () => {
    const shards = createShardCounts()
    shards.learn('7', { shards: 4, epoch: 1, gateShards: 4 })
    expect(() => shards.learn('7', { shards: 4, epoch: 1, gateShards: 1 })).toThrow()
    expect(() => shards.learn('7', { shards: 4, epoch: 2, gateShards: 2 })).toThrow()
  })
})
