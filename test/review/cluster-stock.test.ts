/** A stock change that crosses the turning of a door. */

import { expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { settleChanges } from '../../src/flows/operate/change-stock.ts'
import { keeperStageForFile, ledgerForFile } from '../harness/flow-stage.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

test('a decrease that waits behind the ledger’s door while the gate comes back is not called done with nothing taken', async () => {
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
