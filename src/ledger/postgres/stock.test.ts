import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'

const ledger = ledgerForFile()

const wish = (item: string, delta: number, key?: string) => ({ item, delta, reason: 'test', by: 'op', key })
const openOf = async (item: string) =>
  (await ledger.stock.open(item)).map(({ no, delta, state, epoch, door }) => ({ no, delta, state, epoch, door }))

test('more units are in the ledger at once, and open until the gate has them', async () => {
  const { sale, item, epoch } = await ledger.openItem()
  expect(await ledger.stock.ask(wish(item, 5))).toEqual({ outcome: 'applied', no: 1 })
  expect(await ledger.units(sale)).toMatchObject({ units: 15, available: 15 })
  expect(await openOf(item)).toEqual([{ no: 1, delta: 5, state: 'applied', epoch, door: 'gate' }])
  expect(await ledger.stock.settle(item, 1, epoch, 5)).toBe(true)
  expect(await ledger.stock.settle(item, 1, epoch, 5), 'again').toBe(true)
  expect(await openOf(item)).toEqual([])
  expect(await ledger.units(sale)).toMatchObject({ units: 15, available: 15 })
})

test('fewer units leave the ledger only when the gate has given them up, and exactly as many', async () => {
  const { sale, item, epoch } = await ledger.openItem()
  await ledger.orders.place(item, epoch, false, [ledger.ask('ann', 4)])
  expect(await ledger.stock.ask(wish(item, -8))).toEqual({ outcome: 'asked', no: 1 })
  expect(await ledger.units(sale)).toMatchObject({ units: 10, available: 6 })
  expect(await ledger.stock.settle(item, 1, epoch, -6)).toBe(true)
  expect(await ledger.stock.settle(item, 1, epoch, -6), 'again').toBe(true)
  expect(await ledger.units(sale)).toMatchObject({ units: 4, available: 0, pending: 4 })
  expect(await ledger.stock.find(item, 1)).toMatchObject({ delta: -8, taken: -6, state: 'done', by: 'op' })
})

test('what an older gate gave up is void: the change is not applied, and the new gate is asked again', async () => {
  const { sale, item, epoch } = await ledger.openItem()
  await ledger.stock.ask(wish(item, -3))
  const next = await ledger.rebuild(item)
  expect(await ledger.stock.settle(item, 1, epoch, -3)).toBe(false)
  expect(await ledger.units(sale)).toMatchObject({ units: 10, available: 10 })
  expect(await openOf(item)).toEqual([{ no: 1, delta: -3, state: 'asked', epoch: next, door: 'gate' }])
  expect(await ledger.stock.settle(item, 1, next, -3)).toBe(true)
  expect(await ledger.units(sale)).toMatchObject({ units: 7, available: 7 })
  const after = await ledger.rights.raiseEpoch(item)
  expect(await ledger.rights.snapshot(item, after, async () => {})).toMatchObject({ available: 7, changeNo: 1 })
})

test('a decrease that no gate can do, because the item was shut meanwhile, still takes what is available', async () => {
  const { sale, item } = await ledger.openItem()
  await ledger.stock.ask(wish(item, -3))
  await ledger.sql('UPDATE sales SET closes_at = clock_timestamp() WHERE id = $1', [sale])
  expect(await ledger.rights.shutIdle([])).toContain(item)
  const [open] = await ledger.stock.open(item)
  expect(open).toMatchObject({ no: 1, door: 'shut' })
  expect(await ledger.stock.settle(item, 1, open?.epoch ?? 0, 0)).toBe(true)
  expect(await openOf(item)).toEqual([])
  expect(await ledger.units(sale)).toMatchObject({ units: 7, available: 7 })
})

test('one change at a time, the same key is the same change, and none while the item is rebuilt', async () => {
  const { sale, item, epoch } = await ledger.openItem()
  const key = ledger.id()
  const asked = await Promise.all(Array.from({ length: 8 }, () => ledger.stock.ask(wish(item, 5, key))))
  expect(asked.map(one => one.outcome).sort()).toEqual(['applied', ...Array.from({ length: 7 }, () => 'same' as const)])
  expect([...new Set(asked.map(one => one.no))]).toEqual([1])
  expect(await ledger.stock.ask(wish(item, -1))).toEqual({ outcome: 'pending', no: 1 })
  await ledger.stock.settle(item, 1, epoch, 5)
  await ledger.rights.raiseEpoch(item)
  expect(await ledger.stock.ask(wish(item, -1))).toEqual({ outcome: 'moving', no: undefined })
  expect(await ledger.stock.ask(wish(item, 5, key))).toEqual({ outcome: 'same', no: 1 })
  expect(await ledger.units(sale)).toMatchObject({ units: 15, available: 15 })
  expect(await ledger.stock.ask(wish(ledger.id(), 1))).toEqual({ outcome: 'no_item', no: undefined })
})

test('where no gate sells it, a change is done at once and takes what is there; too many are refused', async () => {
  const { sale, item, epoch } = await ledger.openItem()
  await ledger.orders.place(item, epoch, false, [ledger.ask('ann', 4)])
  await ledger.rights.setDoor(item, epoch, 'shut')
  expect(await ledger.stock.ask(wish(item, -8))).toEqual({ outcome: 'done', no: 1 })
  expect(await ledger.stock.find(item, 1)).toMatchObject({ taken: -6, state: 'done' })
  expect(await ledger.stock.ask(wish(item, 3))).toEqual({ outcome: 'done', no: 2 })
  expect(await ledger.stock.ask(wish(item, 10_000_000))).toEqual({ outcome: 'too_many', no: undefined })
  expect(await ledger.units(sale)).toEqual({ units: 7, available: 3, pending: 4, paid: 0, releases: 0 })
})

test('behind the ledger door a change is done at once, also one that a gate was asked for before, and what is sold goes by it', async () => {
  const { sale, item, epoch } = await ledger.openItem()
  expect(await ledger.stock.ask(wish(item, -3))).toEqual({ outcome: 'asked', no: 1 })
  const next = await ledger.rights.raiseEpoch(item)
  await ledger.rights.setDoor(item, next, 'ledger')
  expect(await openOf(item)).toEqual([{ no: 1, delta: -3, state: 'asked', epoch, door: 'ledger' }])
  expect(await ledger.stock.settle(item, 1, epoch, 0)).toBe(true)
  expect(await ledger.units(sale)).toMatchObject({ units: 7, available: 7 })
  const buyers = Array.from({ length: 8 }, (_, i) => ledger.ask(`buyer-${i}`))
  const [changed] = await Promise.all([
    ledger.stock.ask(wish(item, -4)),
    ...buyers.map(ask => ledger.orders.placeDirectly(item, next, [ask])),
  ])
  expect(changed).toEqual({ outcome: 'done', no: 2 })
  const { units, available, pending } = await ledger.units(sale)
  expect({ units, available }).toEqual({ units: pending + available, available: 0 })
  expect(await ledger.stock.ask(wish(item, 2))).toEqual({ outcome: 'done', no: 3 })
  expect(await ledger.orders.placeDirectly(item, next, [ledger.ask('late')])).toMatchObject({ available: 1 })
})

test('releases of an item that the ledger sells need no gate: the units are for sale with the commit, the rows are forgotten', async () => {
  const { sale, item, epoch } = await ledger.openItem({ units: 1 })
  await ledger.rights.setDoor(item, epoch, 'ledger')
  const ann = ledger.ask('ann')
  await ledger.orders.placeDirectly(item, epoch, [ann])
  await ledger.closings.close(item, [ann.order], 'cancelled')
  expect((await ledger.closings.releases(100, 100)).filter(release => release.item === item)).toEqual([])
  expect(await ledger.orders.placeDirectly(item, epoch, [ledger.ask('ben')])).toMatchObject({ available: 0 })
  expect(await ledger.units(sale)).toMatchObject({ pending: 1, releases: 1 })
  await ledger.closings.releaseIdle()
  expect(await ledger.units(sale)).toMatchObject({ pending: 1, releases: 0 })
})

test('E8: while an item is rebuilt its releases wait, and are listed under the epoch that sells then', async () => {
  const { item, epoch } = await ledger.openItem()
  const ann = ledger.ask('ann')
  await ledger.orders.place(item, epoch, true, [ann])
  const next = await ledger.rights.raiseEpoch(item)
  await ledger.closings.close(item, [ann.order], 'cancelled')
  const mine = async () => (await ledger.closings.releases(100, 100)).filter(release => release.item === item)
  expect(await mine()).toEqual([])
  await ledger.closings.releaseIdle()
  expect(await ledger.sql('SELECT order_id::text FROM releases WHERE item = $1', [item])).toEqual([
    { order_id: ann.order },
  ])
  await ledger.rights.snapshot(item, next, async () => {})
  await ledger.rights.setDoor(item, next, 'gate')
  expect(await mine()).toMatchObject([{ order: ann.order, epoch: next }])
})

test('a door that no process keeps is shut after the sale, also of an item whose home is the ledger door', async () => {
  const { sale, item, epoch } = await ledger.openItem()
  await ledger.sql("UPDATE items SET home_door = 'ledger' WHERE id = $1", [item])
  await ledger.sql('UPDATE sales SET closes_at = clock_timestamp() WHERE id = $1', [sale])
  expect(await ledger.rights.shutIdle([item])).not.toContain(item)
  expect(await ledger.rights.shutIdle([])).toContain(item)
  expect(await ledger.rights.read(item)).toEqual({ epoch: epoch + 1, door: 'shut' })
})
