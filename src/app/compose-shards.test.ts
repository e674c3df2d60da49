import { expect, test } from 'bun:test'
import type { Sale } from '../domain/sale.ts'
import { learnShards } from './compose-shards.ts'

const saleOf = (...ids: string[]) =>
  ({ id: '1', items: ids.map(id => ({ id, shards: 1, gateEpoch: 1, gateShards: 1 })) }) as unknown as Sale

/** Reads of the followed sales that the test answers, in any order, and what is learned and forgotten by them. */
function setUp() {
  const reads: PromiseWithResolvers<readonly Sale[]>[] = []
  const learned: string[] = []
  const forgotten: string[] = []
  const counts = { learn: (id: string) => void learned.push(id), forget: (id: string) => void forgotten.push(id) }
  const sales = {
    async followed() {
      const read = Promise.withResolvers<readonly Sale[]>()
      reads.push(read)
      return { nowMs: 0, anew: 1, sales: await read.promise }
    },
  }
  const parts = { sales, rights: {}, reconciliation: {} } as unknown as Parameters<typeof learnShards>[0]
  const followed = learnShards(parts, counts).sales.followed
  const read = async (list: readonly Sale[]) => {
    const reply = followed()
    reads.at(-1)!.resolve(list)
    await reply
  }
  return { reads, followed, read, learned, forgotten }
}

test('a list that is the same as before costs nothing per item', async () => {
  const { read, learned, forgotten } = setUp()
  const list = [saleOf('1', '2')]
  await read(list)
  await read(list)
  expect(learned).toEqual(['1', '2'])
  await read([saleOf('2', '3')])
  expect(learned).toEqual(['1', '2', '2', '3'])
  expect(forgotten).toEqual(['1'])
})

test('what only an overtaken reply lists is forgotten with the next, though that is the same as before', async () => {
  const { reads, followed, read, forgotten } = setUp()
  const list = [saleOf('1')]
  const slow = followed()
  await read(list)
  reads[0]!.resolve([saleOf('1', '2')])
  await slow
  expect(forgotten).toEqual([])
  await read(list)
  expect(forgotten).toEqual(['2'])
})

test('a reply that the same list has overtaken forgets nothing', async () => {
  const { reads, followed, read, forgotten } = setUp()
  const list = [saleOf('1', '2')]
  await read(list)
  const slow = followed()
  await read(list)
  reads[1]!.resolve([saleOf('1')])
  await slow
  expect(forgotten).toEqual([])
})
