import { describe, expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { changeStock, settleChanges } from '../operate/change-stock.ts'
import { createUnplacedReservations } from './unplaced-reservations.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

/** Ten units, eight of them promised by a process that is about to go without a word. `shut`: it goes, with the gate, and the door is shut (E10). */
async function promising() {
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
  async function shut() {
    stage.server.away = true
    await node.lapse()
    await ledger.rights.setDoor(item, await ledger.rights.raiseEpoch(item), 'shut')
  }
  return { sale, item, parts, unplaced, shut }
}

async function promised(ask: (item: string) => Promise<unknown> = async () => {}) {
  const { shut, ...all } = await promising()
  await ask(all.item)
  await shut()
  return all
}

const fewer = (item: string) => ({ item, delta: -5, reason: 'broken', by: 'olga', key: `fewer-${item}` })

describe('behind a door that was shut with promises on the gate’s disk alone', () => {
  test('a decrease waits until they are in the ledger', async () => {
    const { sale, item, parts } = await promised(one => ledger.stock.ask(fewer(one)))
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

  test('a decrease that was judged before the door was shut is judged again, and takes nothing', async () => {
    const { sale, item, parts, shut } = await promising()
    let asked = 0
    const ask: typeof parts.stock.ask = async (wish, judged) => {
      asked += 1
      if (asked === 1) await shut()
      return ledger.stock.ask(wish, judged)
    }
    expect(await changeStock({ ...parts, stock: { ...ledger.stock, ask } }, fewer(item))).toEqual({ kind: 'busy' })
    expect(asked).toBe(1)
    expect(await ledger.units(sale)).toMatchObject({ units: 10, available: 10 })
  })

  test('what the gate gave up before the door was shut is not taken from the promised units', async () => {
    const { sale, item, parts, shut } = await promising()
    const { no } = await ledger.stock.ask(fewer(item))
    const settle: typeof parts.stock.settle = async (...change) => {
      await shut()
      return ledger.stock.settle(...change)
    }
    await settleChanges({ ...parts, stock: { ...ledger.stock, settle } }, item)
    expect(await ledger.stock.find(item, no!)).toMatchObject({ state: 'asked' })
    expect(await ledger.units(sale)).toMatchObject({ units: 10, available: 10 })
  })

  test('more units are no trouble, and the operator who opens the ledger’s door has decided', async () => {
    const { sale, item, parts } = await promised()
    expect(await changeStock(parts, { ...fewer(item), delta: 2, key: `more-${item}` })).toMatchObject({ kind: 'done' })
    expect(await changeStock(parts, fewer(item))).toEqual({ kind: 'busy' })
    expect(await ledger.rights.openLedgerDoor(item, 'olga')).toBe(true)
    expect(await changeStock(parts, fewer(item))).toMatchObject({ kind: 'done', change: { taken: -5 } })
    expect(await ledger.units(sale)).toMatchObject({ units: 7, available: 7 })
  })
})

test('where nobody can tell, something may be on its way; many who ask at once are one question', async () => {
  const { item, unplaced } = await promised()
  const answers = [unplaced.maybe(item), unplaced.maybe(item)]
  expect(answers[0]).toBe(answers[1]!)
  expect(await Promise.all(answers)).toEqual([true, true])
  stage.server.away = false
  await stage.worker('w', item).work()
  expect(await unplaced.maybe(item)).toBe(true)
  await stage.nodes.settle(await ledger.rights.now())
  expect(await unplaced.maybe(item)).toBe(false)
})
