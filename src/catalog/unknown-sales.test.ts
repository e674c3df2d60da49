import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../test/harness/flow-stage.ts'
import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { createSaleLookup } from '../ledger/postgres/sales.ts'
import { Catalog } from './catalog.ts'
import { createSaleReader } from './unknown-sales.ts'

const MADE_UP = 300

const ledger = ledgerForFile()

/** A catalog on the ledger, and the ids of each statement that it cost. */
function openCatalog() {
  const statements: string[][] = []
  const lookup = createSaleLookup(ledger.database)
  const find = createSaleReader({
    clock: systemClock,
    knows: id => catalog.knows(id),
    find: id => {
      statements.push([id])
      return ledger.sales.find(id)
    },
    findAll: ids => {
      statements.push([...ids])
      return lookup.findAll(ids)
    },
  })
  const source = { list: ledger.sales.list, find }
  const catalog: Catalog = new Catalog({
    source,
    clock: systemClock,
    random: systemRandom,
    nowMs: systemClock.now,
    count() {},
  })
  return { catalog, statements }
}

test('300 made-up ids are a few statements, and a sale among them is found with its items', async () => {
  const { catalog, statements } = openCatalog()
  const { sale, item } = await ledger.openItem()
  const madeUp = Array.from({ length: MADE_UP }, () => ledger.id())
  const found = await Promise.all([...madeUp, sale].map(id => catalog.find(id)))
  expect(found.filter(one => one !== undefined).map(one => [one.id, one.items[0]?.id])).toEqual([[sale, item]])
  expect(statements.length).toBeLessThanOrEqual(3)
  expect(statements.flat()).toHaveLength(MADE_UP + 1)
})

test('a sale that is made between two reads is seen as soon as it is announced', async () => {
  const { catalog } = openCatalog()
  const [first, second] = [await ledger.openItem(), await ledger.openItem()]
  expect((await catalog.find(first.sale))?.items.map(({ id }) => id)).toEqual([first.item])
  expect((await ledger.sales.find(second.sale))?.items).toEqual((await catalog.find(second.sale))!.items)
  catalog.invalidate()
  expect((await catalog.find(first.sale))?.id).toBe(first.sale)
})
