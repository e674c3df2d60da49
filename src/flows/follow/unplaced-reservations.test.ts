import { describe, expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { changeStock, settleChanges } from '../operate/change-stock.ts'
import { createUnplacedReservations } from './unplaced-reservations.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

/** Ten units, eight of them promised by a process that went without a word; the gate is away, and the door was shut (E10). */
async function promised(asked: (parts: Parameters<typeof changeStock>[0], item: string) => Promise<unknown>) {
  const { sale, item } = await stage.fresh({ units: 10 })
  const { epoch } = await stage.keeper().untilDoor(item, 'gate')
  const node = await stage.holdingNode(`edge of ${item}`)
  await node.confirm(item, epoch)
  for (let i = 0; i < 8; i++) await stage.reserve(item, epoch, `buyer-${i}`)
  const unplaced = createUnplacedReservations({
    follows: () => true,
    outbox: stage.outbox,
    nodes: stage.nodes,
    rights: ledger.rights,
    reconciliation: ledger.reconciliation,
    registry: new Map([[item, undefined as never]]),
  })
  const parts = { gate: stage.gate, stock: ledger.stock, clock: systemClock, unplaced }
  await asked(parts, item)
  stage.server.away = true
  await node.lapse()
  await ledger.rights.setDoor(item, await ledger.rights.raiseEpoch(item), 'shut')
  return { sale, item, parts, unplaced }
}

const fewer = (item: string) => ({ item, delta: -5, reason: 'broken', by: 'olga', key: `fewer-${item}` })

describe('behind a door that was shut with promises on the gate’s disk alone', () => {
  test('a decrease waits until they are in the ledger', async () => {
    const { sale, item, parts } = await promised((_, one) => ledger.stock.ask(fewer(one)))
    await settleChanges(parts, item)
    expect(await ledger.units(sale)).toMatchObject({ units: 10, available: 10 })
    expect(await changeStock(parts, fewer(item))).toEqual({ kind: 'busy' })
    stage.server.away = false
    // The gate is back, and they are in its outbox.
    await settleChanges(parts, item)
    expect(await ledger.units(sale)).toMatchObject({ units: 10, available: 10 })
    await stage.worker('w', item).work()
    await settleChanges(parts, item)
    expect(await ledger.units(sale)).toMatchObject({ units: 8, available: 0, pending: 8 })
  })

  test('more units are no trouble, and the operator who opens the ledger’s door has decided', async () => {
    const { sale, item, parts } = await promised(async () => {})
    expect(await changeStock(parts, { ...fewer(item), delta: 2, key: `more-${item}` })).toMatchObject({ kind: 'done' })
    expect(await changeStock(parts, fewer(item))).toEqual({ kind: 'busy' })
    expect(await ledger.rights.openLedgerDoor(item, 'olga')).toBe(true)
    expect(await changeStock(parts, fewer(item))).toMatchObject({ kind: 'done', change: { taken: -5 } })
    expect(await ledger.units(sale)).toMatchObject({ units: 7, available: 7 })
  })
})

test('where nobody can tell, something may be on its way; many who ask at once are one question', async () => {
  const { item, unplaced } = await promised(async () => {})
  const answers = [unplaced.maybe(item), unplaced.maybe(item)]
  expect(answers[0]).toBe(answers[1]!)
  expect(await Promise.all(answers)).toEqual([true, true])
  stage.server.away = false
  await stage.worker('w', item).work()
  expect(await unplaced.maybe(item)).toBe(true)
  await stage.nodes.settle(await ledger.rights.now())
  expect(await unplaced.maybe(item)).toBe(false)
})
