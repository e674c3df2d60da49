import { expect, test } from 'bun:test'
import type { Order } from '../../domain/order.ts'
import { createOrderPages } from './export-orders.ts'

/** Orders by item; counts what is read. */
function stage(ids: Readonly<Record<string, readonly number[]>>) {
  const read = { rows: 0, statements: 0, most: 0 }
  const pages = (query: { after?: string; state?: 'paid' } = {}) =>
    createOrderPages(
      async (item, { after = '0', limit, state }) => {
        const behind = ids[item]!.filter(id => id > Number(after) && (state === undefined || id % 2 === 0))
        const rows = behind.slice(0, limit).map(id => ({ id: String(id), item }) as Order)
        read.statements += 1
        read.rows += rows.length
        read.most = Math.max(read.most, rows.length)
        return rows
      },
      Object.keys(ids),
      query,
    )
  return { read, pages }
}

async function all(next: () => Promise<readonly Order[]>): Promise<number[]> {
  const found: number[] = []
  for (let page = await next(); page.length > 0; page = await next()) found.push(...page.map(({ id }) => Number(id)))
  return found
}

const upTo = (count: number, take: (n: number) => boolean) =>
  Array.from({ length: count }, (_, n) => n + 1).filter(take)

test('an export has every order once, in the order of their ids, and reads none twice', async () => {
  // One item sold out at once, one slowly, one not at all: from one digit to five.
  const { read, pages } = stage({
    a: upTo(12_000, n => n < 5_000),
    b: upTo(12_000, n => n >= 5_000 && n % 3 === 0),
    c: upTo(12_000, n => n >= 5_000 && n % 3 !== 0),
    d: [],
  })
  expect(await all(pages())).toEqual(upTo(12_000, () => true))
  expect(read.rows).toBe(12_000)
  expect(read.most).toBe(400)
})

test('with a hundred items the statements are shorter, and still no order is read twice', async () => {
  const items = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`i${i}`, upTo(6_000, n => n % 100 === i)]))
  const { read, pages } = stage(items)
  expect(await all(pages())).toEqual(upTo(6_000, () => true))
  expect(read).toMatchObject({ rows: 6_000, most: 40 })
})

test('it begins behind the order asked for, and passes the state on', async () => {
  const { pages } = stage({ a: upTo(900, n => n % 2 === 0), b: upTo(900, n => n % 2 === 1) })
  expect(await all(pages({ after: '850' }))).toEqual(upTo(900, n => n > 850))
  expect(await all(pages({ state: 'paid' }))).toEqual(upTo(900, n => n % 2 === 0))
})
