import { expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { settleChanges } from './change-stock.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

test('a decrease that waits while the door is the ledger is not settled with nothing taken when the gate comes back', async () => {
  const { item } = await stage.fresh()
  await stage.keeper().untilDoor(item, 'gate')
  const wish = { item, delta: -4, reason: 'a broken pallet', by: 'test', key: undefined }
  const { outcome, no } = await ledger.stock.ask(wish)
  expect(outcome).toBe('asked')
  // The gate is away before it was asked (E10).
  await ledger.rights.setDoor(item, await ledger.rights.raiseEpoch(item), 'ledger')
  const parts = { gate: stage.gate, stock: ledger.stock, clock: systemClock }
  // It is back, and a rebuild begins between the reading of the change and its settling.
  let epoch = 0
  const open: typeof ledger.stock.open = async one => {
    const changes = await ledger.stock.open(one)
    epoch = await ledger.rights.raiseEpoch(item)
    return changes
  }
  await settleChanges({ ...parts, stock: { ...ledger.stock, open } }, item)
  expect(await ledger.stock.find(item, no!)).toMatchObject({ state: 'asked' })
  await ledger.rights.setDoor(item, epoch, 'ledger')
  await settleChanges(parts, item)
  expect(await ledger.stock.find(item, no!)).toMatchObject({ state: 'done', taken: -4 })
})
