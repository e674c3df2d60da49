import { afterEach, expect, test } from 'bun:test'
import { dirname } from 'node:path'
import { systemClock as clock } from '../../src/base/clock.ts'
import { type Answer, Connection } from '../../src/rehearsal/client/connection.ts'
import { Playground } from '../../test/harness/playground.ts'
import { openOldLedger } from './old-ledger.ts'
import { checkPast, exportedSaleOf } from './old-orders.ts'
import { listRequests } from './read-requests.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('a past of parts of sales is refused', () => {
  expect(() => checkPast({ orders: 1_500, exported: 0 })).toThrow('1500 old orders are not whole sales of 1000')
})

test('a seeded ledger adds up, is written once, and a run leaves nothing in it for the next', async () => {
  const past = { orders: 2_000, exported: 1_000 }
  const lines: string[] = []
  const keptIn = dirname(playground.dataDir())
  const open = () => openOldLedger({ past, clock, keptIn, print: line => void lines.push(line) })
  const first = await open()
  playground.onUndo(() => first.stop())
  const count = async (ledger: typeof first, what: string) => Number((await ledger.sql(`SELECT ${what} AS n`))[0]?.n)
  expect(await count(first, '(SELECT count(*) FROM orders)')).toBe(3_000)
  expect(await count(first, '(SELECT count(*) FROM payments)')).toBe(300)
  expect(
    await count(first, '(SELECT count(*) FROM items WHERE sale NOT IN (SELECT sale FROM reconciliations WHERE final))'),
  ).toBe(0)
  const sold = `(SELECT count(*) FROM items i WHERE units - available <> (SELECT count(*) FROM orders WHERE item = i.id AND state = 'paid'))`
  expect(await count(first, sold)).toBe(0)

  const stampede = first.stampede()
  const [sale] = await first.sql(...exportedSaleOf())
  const { items } = (await stampede.operate('GET', `/sales/${sale?.id}/audit`)) as { items: { consistent: boolean }[] }
  expect(items.map(({ consistent }) => consistent)).toEqual(Array.from({ length: 10 }, () => true))
  const heard = Promise.withResolvers<Answer>()
  const connection = await Connection.open(
    stampede.target,
    (_, answer) => heard.resolve(answer),
    () => {},
  )
  connection.send((await listRequests(stampede.target, past, 1))[0]!)
  const { bytes, bodyAt } = await heard.promise
  connection.close()
  expect(JSON.parse(bytes.toString('utf8', bodyAt)).orders).toHaveLength(10)

  await stampede.openSale({ units: 5 })
  await first.stop()
  const second = await open()
  playground.onUndo(() => second.stop())
  expect(await count(second, '(SELECT count(*) FROM sales)')).toBe(3)
  expect(lines.filter(line => line.includes('written in'))).toHaveLength(1)
}, 300_000)
