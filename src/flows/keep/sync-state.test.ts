import { describe, expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until, within } from '../../../test/harness/until.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { createSyncState, windowStateOf } from './sync-state.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

/** Never out of time, however long the ledger takes: what the gate shows in the end is what counts. */
const patient: Clock = { ...systemClock, elapsed: () => 0 }

describe('what the ledger says of a sale', () => {
  const stateOf = async (item: string) => (await stage.gate.status([item])).items[0]?.state

  test('reaches a gate that nobody told', async () => {
    const { sale, item } = await stage.fresh()
    const keeper = stage.keeper()
    await keeper.untilDoor(item, 'gate')
    await ledger.sales.move(sale, ['ready'], 'paused', 'olga', 'sale.pause')
    await keeper.round()
    expect(await stateOf(item)).toBe('paused')
    await ledger.sales.move(sale, ['paused'], 'ready', 'olga', 'sale.resume')
    await until('it is open again', async () => {
      await keeper.round()
      return (await stateOf(item)) === 'open'
    })
    await ledger.sales.move(sale, ['ready'], 'over', 'olga', 'sale.end')
    await keeper.round()
    expect(await stateOf(item)).toBe('over')
  })

  test('reaches the gate of one item while another, which must be built anew, is locked', async () => {
    const { sale, item } = await stage.fresh()
    const other = await ledger.openItem()
    await ledger.sql("UPDATE items SET epoch = 0, gate_epoch = 0, door = 'shut' WHERE id = $1", [other.item])
    const { epoch } = await stage.keeper().untilDoor(item, 'gate')
    await stage.keeper().untilDoor(other.item, 'gate')
    // A ledger that lost its last moves: the gate has a higher number, and is built anew when two rounds have seen it.
    await stage.gate.set(item, epoch, {
      ...windowStateOf((await ledger.sales.find(sale))!),
      stateNo: 99,
      state: 'paused',
    })
    const free = Promise.withResolvers<void>()
    const { rights } = ledger
    const keeper = stage.keeper({
      rights: {
        ...rights,
        async raiseEpoch(id) {
          if (id === item) await free.promise
          return rights.raiseEpoch(id)
        },
      },
    })
    await keeper.round()
    await ledger.sales.move(other.sale, ['ready'], 'paused', 'olga', 'sale.pause')
    await within('a round beside a locked item', 5_000, keeper.round())
    expect(await stateOf(other.item)).toBe('paused')
    free.resolve()
    expect((await keeper.untilDoor(item, 'gate')).epoch).toBeGreaterThan(epoch)
    expect(await stateOf(item)).toBe('open')
  })

  test('is not undone by a keeper that read it before an operator’s later word', async () => {
    const { sale, item } = await stage.fresh()
    const { sales } = ledger
    const { epoch } = await stage.keeper().untilDoor(item, 'gate')
    let pause = false
    const keeper = stage.keeper({
      sales: {
        ...sales,
        async followed() {
          const read = await sales.followed()
          if (pause) {
            pause = false
            // Between the keeper's read and its look: an edge pauses, in the ledger and in the gate.
            await sales.move(sale, ['ready'], 'paused', 'olga', 'sale.pause')
            await stage.gate.set(item, epoch, windowStateOf((await sales.find(sale))!))
          }
          return read
        },
      },
    })
    stage.calls.length = 0
    pause = true
    await keeper.round()
    expect(await stateOf(item)).toBe('paused')
    await keeper.round()
    expect(stage.calls.filter(call => call === 'set open')).toEqual([])
  })

  test('a pause that was answered is not undone by a word that was overtaken on its way, not for a moment', async () => {
    const { sale, item } = await stage.fresh()
    const { sales } = ledger
    const { gate } = stage
    const { epoch } = await stage.keeper().untilDoor(item, 'gate')
    const syncState = createSyncState({ sales, gate, clock: patient, waitMsMax: 3_000, wake() {} })
    await sales.move(sale, ['ready'], 'paused', 'olga', 'sale.pause')
    expect(await syncState(sale, false)).toBe(true)
    // Whoever resumed it died before the gate heard of it: that is for the keeper to tell.
    await sales.move(sale, ['paused'], 'ready', 'olga', 'sale.resume')
    const sent = Promise.withResolvers<void>()
    const arrives = Promise.withResolvers<void>()
    const clicks: string[] = []
    const keeper = stage.keeper({
      gate: {
        ...gate,
        async set(...args) {
          sent.resolve()
          await arrives.promise
          const done = await gate.set(...args)
          clicks.push((await gate.reserve(item, epoch, [stage.ask('late')])).status)
          return done
        },
      },
    })
    await keeper.round()
    const round = keeper.round()
    await sent.promise
    await sales.move(sale, ['ready'], 'paused', 'olga', 'sale.pause')
    expect(await syncState(sale, false)).toBe(true)
    arrives.resolve()
    await round
    expect([...new Set(clicks)]).toEqual(['paused'])
    expect(await stateOf(item)).toBe('paused')
  })

  test('reaches a gate that has heard more than the ledger remembers: it is built anew', async () => {
    const { sale, item } = await stage.fresh()
    const keeper = stage.keeper()
    const { epoch } = await keeper.untilDoor(item, 'gate')
    // The moves of a standby that was promoted without them.
    const state = windowStateOf((await ledger.sales.find(sale))!)
    await stage.gate.set(item, epoch, { ...state, stateNo: state.stateNo + 5, state: 'paused' })
    await until('the gate has the ledger’s word', async () => {
      await keeper.round()
      const [status] = (await stage.gate.status([item])).items
      return status?.epoch !== epoch && status?.state === 'open' && status.stateNo === state.stateNo
    })
  })

  test('a pause during a rebuild is there when the gate opens', async () => {
    const { sale, item } = await stage.fresh()
    await stage.keeper().untilDoor(item, 'gate')
    stage.restartEmpty()
    const { gate } = stage
    const keeper = stage.keeper({
      gate: {
        ...gate,
        async activate(id, epoch, terms) {
          await ledger.sales.move(sale, ['ready'], 'paused', 'olga', 'sale.pause')
          return gate.activate(id, epoch, terms)
        },
      },
    })
    await keeper.round()
    await keeper.idle()
    expect((await stage.rights(item)).door).toBe('gate')
    expect(await stateOf(item)).toBe('paused')
  })

  test('reaches every place of an item, though whoever told them was stopped in the middle', async () => {
    for (const state of ['paused', 'over'] as const) {
      const { sale, item } = await stage.fresh()
      const { epoch } = await stage.keeper().untilDoor(item, 'gate')
      await ledger.sales.move(sale, ['ready'], state, 'olga', 'sale.move')
      // The first place has heard it, so the strictest word is the right one; the others have not.
      await stage.gate.set(item, epoch, windowStateOf((await ledger.sales.find(sale))!))
      let uneven = true
      const { gate } = stage
      const keeper = stage.keeper({
        gate: {
          ...gate,
          async status(items) {
            const reply = await gate.status(items)
            return { ...reply, items: reply.items.map(status => ({ ...status, uneven })) }
          },
          set(...args) {
            uneven = false
            return gate.set(...args)
          },
        },
      })
      stage.calls.length = 0
      for (let i = 0; i < 3; i++) await keeper.round()
      expect(stage.calls.filter(call => call.startsWith('set'))).toEqual([`set ${state}`])
    }
  })
})
