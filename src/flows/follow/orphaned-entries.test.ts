import { expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { createOrphanSearch } from './unplaced-reservations.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

/** On sale, one unit reserved and not placed, and then more than an hour passes after the end. */
async function longOver(door: 'gate' | 'shut') {
  const { sale, item } = await stage.fresh()
  const { epoch } = await stage.keeper().untilDoor(item, 'gate')
  const order = await stage.reserve(item, epoch, 'ann')
  if (door === 'shut') await ledger.rights.setDoor(item, await ledger.rights.raiseEpoch(item), 'shut')
  const ends = (ago: string) =>
    ledger.sql(
      `UPDATE sales SET opens_at = now() - interval '3 hours', closes_at = now() - $2::interval WHERE id = $1`,
      [sale, ago],
    )
  await ends('61 minutes')
  return {
    sale,
    item,
    order,
    ends,
    found: async () => (await createOrphanSearch({ ...stage, reconciliation: ledger.reconciliation })()).includes(item),
  }
}

test.each(['gate', 'shut'] as const)(
  'a reservation that waits behind the door "%s" an hour after its sale is found when the gate is back, and placed',
  async door => {
    const { item, order, ends, found } = await longOver(door)
    await ends('59 minutes')
    expect(await found(), 'still followed').toBe(false)
    await ends('61 minutes')
    stage.server.away = true
    expect(await found()).toBe(false)
    stage.server.away = false
    expect(await found()).toBe(true)
    await stage.worker('w', item).work()
    expect(await ledger.orders.find([order])).toMatchObject([{ state: 'pending' }])
  },
)

test('where nothing waits nobody is sent, and of a settled sale nobody asks', async () => {
  const { sale, item, found } = await longOver('shut')
  await stage.worker('w', item).work()
  stage.calls.length = 0
  expect(await found()).toBe(false)
  expect(stage.calls).toEqual(['depth'])
  await ledger.sql(
    `INSERT INTO reconciliations (sale, final, differences, repairs) SELECT id, true, '[]', '[]' FROM sales WHERE id <> $1 ON CONFLICT DO NOTHING`,
    [sale],
  )
  await ledger.reconciliation.save(sale, 'final', { differences: [], repairs: [] })
  expect(await found()).toBe(false)
  expect(stage.calls).toEqual(['depth'])
})
