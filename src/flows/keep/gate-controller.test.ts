import { describe, expect, test } from 'bun:test'
import { FENCE_MS } from '../../../test/harness/cluster-keeper.ts'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { armFaultPoints } from '../../base/fault-points.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)
describe('putting on sale', () => {
  test('an item that was never sold is loaded, verified and opened without waiting for anybody', async () => {
    const { item } = await stage.fresh()
    await stage.holdingNode('edge that knows nothing of it')
    let prepared = 0
    const keeper = stage.keeper({ fenceMs: 600_000, prepare: async () => void prepared++ })
    expect(await keeper.untilDoor(item, 'gate')).toMatchObject({ epoch: 1 })
    expect(prepared).toBe(1)
    expect((await stage.gate.status([item])).items).toMatchObject([{ epoch: 1, left: 10, state: 'open' }])
  })

  test('what is healthy is left alone', async () => {
    const { item } = await stage.fresh()
    const keeper = stage.keeper()
    const { epoch } = await keeper.untilDoor(item, 'gate')
    for (let i = 0; i < 3; i++) await keeper.round()
    await keeper.idle()
    expect(await stage.rights(item)).toMatchObject({ epoch, door: 'gate' })
  })

  test('a gate that does not show what was loaded into it is not opened, and tried again', async () => {
    const { item } = await stage.fresh()
    let wrong = true
    const { gate } = stage
    const status: typeof gate.status = async items => {
      const reply = await gate.status(items)
      return wrong ? { ...reply, items: reply.items.map(one => ({ ...one, left: one.left + 1 })) } : reply
    }
    const keeper = stage.keeper({ gate: { ...gate, status } })
    await until('the warm-up was refused', async () => {
      await keeper.round()
      return keeper.lines.some(line => line.level === 'error' && /does not show what was loaded/.test(line.message))
    })
    await keeper.idle()
    expect((await stage.rights(item)).door).toBe('draining')
    wrong = false
    await keeper.untilDoor(item, 'gate')
  })

  test('only while it may', async () => {
    const { item } = await stage.fresh()
    const keeper = stage.keeper()
    keeper.right.held = false
    await keeper.round()
    await keeper.idle()
    expect(await stage.rights(item)).toMatchObject({ epoch: 0, door: 'shut' })
  })

  test('a keeper that loses the right in the middle of a rebuild goes no further', async () => {
    const { item } = await stage.fresh()
    const first = stage.keeper()
    const { epoch } = await first.untilDoor(item, 'gate')
    stage.restartEmpty()
    const keeper = stage.keeper()
    await keeper.round()
    keeper.right.held = false
    await keeper.idle()
    expect(await stage.rights(item)).toMatchObject({ epoch: epoch + 1, door: 'draining' })
  })
})

describe('E2: an edge that was started with a longer fence than the keeper', () => {
  const LONGER_MS = 900
  const longer = async () => {
    const { node } = await stage.nodes.lease('edge', systemClock.now(), 'holding', LONGER_MS)
    return (item: string, epoch: number) => stage.nodes.confirm(node, 'edge', [{ item, epoch }])
  }
  /** A keeper, and how long it waited from when its bump was committed until it turned the door. */
  const timed = () => {
    const { rights } = ledger
    const at = { raisedMs: Number.NaN, setMs: Number.NaN }
    const raiseEpoch: typeof rights.raiseEpoch = async id => {
      const epoch = await rights.raiseEpoch(id)
      at.raisedMs = systemClock.elapsed()
      return epoch
    }
    const setDoor: typeof rights.setDoor = (...words) => {
      at.setMs = systemClock.elapsed()
      return rights.setDoor(...words)
    }
    return {
      keeper: stage.keeper({ rights: { ...rights, raiseEpoch, setDoor } }),
      waitedMs: () => at.setMs - at.raisedMs,
    }
  }

  test('is waited for by a rebuild', async () => {
    const { item } = await stage.fresh()
    const { epoch } = await stage.keeper().untilDoor(item, 'gate')
    const confirm = await longer()
    stage.restartEmpty()
    const { keeper, waitedMs } = timed()
    await keeper.round()
    await until('the bump', async () => (await stage.rights(item)).epoch === epoch + 1)
    await confirm(item, epoch + 1)
    expect(await keeper.untilDoor(item, 'gate')).toMatchObject({ epoch: epoch + 1 })
    expect(waitedMs()).toBeGreaterThanOrEqual(LONGER_MS)
    expect(keeper.lines.some(line => line.fields.longestMs === LONGER_MS)).toBe(true)
  })

  test('is waited for before the ledger sells without the gate', async () => {
    const { item } = await stage.fresh()
    const { epoch } = await stage.keeper().untilDoor(item, 'gate')
    const confirm = await longer()
    stage.server.away = true
    const { keeper, waitedMs } = timed()
    await until('the bump', async () => {
      await keeper.round()
      return (await stage.rights(item)).epoch === epoch + 1
    })
    await confirm(item, epoch + 1)
    await keeper.untilDoor(item, 'ledger')
    expect(waitedMs()).toBeGreaterThanOrEqual(LONGER_MS)
  })
})

describe('a rebuild that dies', () => {
  const points = ['bumped', 'fenced', 'drained', 'loaded', 'snapshot', 'activated'].map(step => `rebuild.${step}`)
  for (const point of [...points, 'door.turned'])
    test(`at ${point} is finished by the next keeper, under a higher epoch, with nothing lost`, async () => {
      const { sale, item } = await stage.fresh()
      const first = stage.keeper()
      const { epoch } = await first.untilDoor(item, 'gate')
      const order = await stage.reserve(item, epoch, 'ann', 2)
      const worker = stage.worker('w', item)
      await worker.work()
      stage.restartEmpty()
      // A fault stands for a death: the task ends there, and nothing of what follows is done.
      armFaultPoints(`${point}=fail@${point === 'rebuild.fenced' ? '*' : '1'}`)
      const dying = stage.keeper({ drainMsMax: 100 })
      await dying.round()
      if (point === 'rebuild.fenced') dying.right.held = false
      await dying.idle()
      armFaultPoints('')
      dying.right.held = false
      const left = await stage.rights(item)
      if (point !== 'door.turned') expect(left.door).toBe('draining')

      const next = stage.keeper()
      const opened = await next.untilDoor(item, 'gate')
      if (point !== 'door.turned') expect(opened.epoch).toBeGreaterThan(left.epoch)
      await next.idle()
      expect((await stage.gate.status([item])).items).toMatchObject([{ epoch: opened.epoch, left: 8, held: 2 }])
      expect(await ledger.units(sale)).toMatchObject({ available: 8, pending: 2 })
      expect(await ledger.orders.find([order])).toMatchObject([{ state: 'pending' }])
      await worker.stop()
    })
})

describe('E3: two keepers that both believe they may', () => {
  test('only the higher epoch is ever opened, and the gate never sells under a lower one', async () => {
    const { item } = await stage.fresh()
    await stage.keeper().untilDoor(item, 'gate')
    stage.restartEmpty()
    stage.calls.length = 0
    const one = stage.keeper()
    const other = stage.keeper()
    await Promise.all([one.round(), other.round()])
    await Promise.all([one.idle(), other.idle()])
    const opened = await one.untilDoor(item, 'gate')
    await one.idle()
    expect((await stage.gate.status([item])).items).toMatchObject([{ epoch: opened.epoch }])
    const activated = stage.calls.filter(call => call.startsWith('activate')).map(call => Number(call.split(' ')[1]))
    expect(activated).toEqual(activated.toSorted((a, b) => a - b))
    expect(activated.at(-1)).toBe(opened.epoch)
  })

  test('a keeper that slept through its successor opens nothing', async () => {
    const { item } = await stage.fresh()
    await stage.keeper().untilDoor(item, 'gate')
    stage.restartEmpty()
    const asleep = Promise.withResolvers<void>()
    const { rights } = ledger
    const turned: ('about to' | boolean)[] = []
    const setDoor: typeof rights.setDoor = async (...words) => {
      turned.push('about to')
      await asleep.promise
      const done = await rights.setDoor(...words)
      turned.push(done)
      return done
    }
    const slow = stage.keeper({ rights: { ...rights, setDoor } })
    await slow.round()
    await until('it is about to turn', () => turned.length > 0)
    const next = await stage.keeper().untilDoor(item, 'gate')
    asleep.resolve()
    await slow.idle()
    expect(turned).toEqual(['about to', false])
    expect(await stage.rights(item)).toEqual({ item, epoch: next.epoch, door: 'gate' })
    expect((await stage.gate.status([item])).items).toMatchObject([{ epoch: next.epoch }])
  })
})

describe('E4: drained', () => {
  test('waits for a process that has not confirmed, and goes on when it has', async () => {
    const { item } = await stage.fresh()
    const keeper = stage.keeper()
    const { epoch } = await keeper.untilDoor(item, 'gate')
    const edge = await stage.holdingNode('edge')
    stage.restartEmpty()
    stage.calls.length = 0
    await keeper.round()
    await until('it is past the fence', () => stage.calls.filter(call => call === `fence ${epoch + 1}`).length === 2)
    // What the edge acknowledged under the old epoch is handed over before it confirms.
    const ask = ledger.ask('ann')
    await ledger.orders.place(item, epoch, true, [ask])
    expect((await stage.rights(item)).door).toBe('draining')
    expect(stage.calls.some(call => call.startsWith('activate'))).toBe(false)
    await edge.confirm(item, epoch + 1)
    await keeper.untilDoor(item, 'gate')
    expect((await stage.gate.status([item])).items).toMatchObject([{ epoch: epoch + 1, left: 9, held: 1 }])
  })

  test('goes on without a process whose lease has lapsed', async () => {
    const { item } = await stage.fresh()
    const keeper = stage.keeper()
    const { epoch } = await keeper.untilDoor(item, 'gate')
    const edge = await stage.holdingNode('edge')
    stage.restartEmpty()
    await keeper.round()
    await until('it is past the fence', () => stage.calls.filter(call => call === `fence ${epoch + 1}`).length === 2)
    expect((await stage.rights(item)).door).toBe('draining')
    await edge.lapse()
    expect(await keeper.untilDoor(item, 'gate')).toMatchObject({ epoch: epoch + 1 })
  })

  test('waits until the outbox is empty: what was reserved before the fence is in the new gate', async () => {
    const { sale, item } = await stage.fresh()
    const keeper = stage.keeper()
    const { epoch } = await keeper.untilDoor(item, 'gate')
    await stage.reserve(item, epoch, 'ann', 3)
    await ledger.rights.raiseEpoch(item)
    await keeper.round()
    await until('it is past the fence', () => stage.calls.filter(call => call === `fence ${epoch + 2}`).length === 2)
    expect((await stage.rights(item)).door).toBe('draining')
    const worker = stage.worker('w', item)
    await worker.work()
    await keeper.untilDoor(item, 'gate')
    expect((await stage.gate.status([item])).items).toMatchObject([{ left: 7, held: 3 }])
    expect(await ledger.units(sale)).toMatchObject({ available: 7, pending: 3 })
    await worker.stop()
  })

  test('gives up when it takes too long, says why, and starts over', async () => {
    const { item } = await stage.fresh()
    const keeper = stage.keeper({ drainMsMax: 50 })
    const { epoch } = await keeper.untilDoor(item, 'gate')
    await stage.reserve(item, epoch, 'ann')
    await ledger.rights.raiseEpoch(item)
    await until('it gave up twice', async () => {
      await keeper.round()
      return keeper.lines.filter(line => /outbox not drained/.test(line.message)).length >= 2
    })
    keeper.right.held = false
    await keeper.idle()
    expect((await stage.rights(item)).door).toBe('draining')
    stage.entries.clear()
  })

  test('E2: the gate is not opened before the fence has passed', async () => {
    const { item } = await stage.fresh()
    const keeper = stage.keeper()
    const { epoch } = await keeper.untilDoor(item, 'gate')
    stage.restartEmpty()
    const raisedMs = systemClock.elapsed()
    await keeper.round()
    await keeper.idle()
    expect(await stage.rights(item)).toEqual({ item, epoch: epoch + 1, door: 'gate' })
    expect(systemClock.elapsed() - raisedMs).toBeGreaterThanOrEqual(FENCE_MS)
  })
})

test('a round that read the ledger before a rebuild ended does not begin another', async () => {
  const { item } = await stage.fresh()
  const { epoch } = await stage.keeper().untilDoor(item, 'gate')
  stage.restartEmpty()
  const { sales } = ledger
  let late = false
  const keeper = stage.keeper({
    sales: {
      ...sales,
      async followed() {
        const read = await sales.followed()
        if (late) await keeper.idle()
        return read
      },
    },
  })
  await keeper.round()
  await until('it is bumped', async () => (await stage.rights(item)).door === 'draining')
  late = true
  await keeper.round()
  await keeper.idle()
  expect(await stage.rights(item)).toEqual({ item, epoch: epoch + 1, door: 'gate' })
})

test('one item whose rebuild waits does not hold up another', async () => {
  const { item } = await stage.fresh()
  const keeper = stage.keeper()
  const { epoch } = await keeper.untilDoor(item, 'gate')
  await stage.reserve(item, epoch, 'ann')
  await ledger.rights.raiseEpoch(item)
  await keeper.round()
  const { item: other } = await ledger.openItem()
  await ledger.sql("UPDATE items SET epoch = 0, gate_epoch = 0, door = 'shut' WHERE id = $1", [other])
  await keeper.untilDoor(other, 'gate')
  expect((await stage.rights(item)).door).toBe('draining')
  keeper.right.held = false
  await keeper.idle()
  stage.entries.clear()
})

describe('an item in several places', () => {
  const gateShardsOf = async (sale: string) => (await ledger.sales.find(sale))?.items[0]?.gateShards

  test('is built in as many as it should have, and the gate knows before anything is loaded', async () => {
    const { sale, item } = await stage.fresh({ units: 16, shards: 2 })
    const { learned, parts } = stage.sharded()
    const keeper = stage.keeper(parts)
    await keeper.untilDoor(item, 'gate')
    expect(learned).toEqual([[1, 2]])
    expect(await gateShardsOf(sale)).toBe(2)
  })

  test('is brought into one place when few units are left, though some come back meanwhile; and only once', async () => {
    const { sale, item } = await stage.fresh({ units: 16, shards: 2 })
    const { learned, parts } = stage.sharded()
    const keeper = stage.keeper(parts)
    await keeper.untilDoor(item, 'gate')
    const order = await stage.reserve(item, 1, 'ann')
    await stage.worker('worker', item).work()
    await keeper.round()
    await until('the item is taken for another epoch', async () => (await stage.rights(item)).epoch === 2)
    await ledger.closings.close(item, [order], 'cancelled')
    await keeper.untilDoor(item, 'gate')
    expect(await ledger.units(sale)).toMatchObject({ available: 16 })
    expect(learned).toEqual([
      [1, 2],
      [2, 1],
    ])
    expect(await gateShardsOf(sale)).toBe(1)
    for (let i = 0; i < 3; i++) await keeper.round()
    await keeper.idle()
    expect(await stage.rights(item)).toMatchObject({ epoch: 2, door: 'gate' })
  })

  test('stays where it is as long as there are enough, and when the sale is over', async () => {
    const { sale, item } = await stage.fresh({ units: 17, shards: 2 })
    const keeper = stage.keeper(stage.sharded().parts)
    await keeper.untilDoor(item, 'gate')
    await stage.reserve(item, 1, 'ann')
    await stage.worker('worker', item).work()
    for (let i = 0; i < 3; i++) await keeper.round()
    await keeper.idle()
    expect(await stage.rights(item)).toMatchObject({ epoch: 1, door: 'gate' })
    await ledger.sales.move(sale, ['ready'], 'over', 'test', 'sale.end')
    await stage.reserve(item, 1, 'bob')
    await stage.worker('worker', item).work()
    for (let i = 0; i < 3; i++) await keeper.round()
    await keeper.idle()
    expect(await stage.rights(item)).toMatchObject({ epoch: 1, door: 'gate' })
  })

  test('is built in one place while a process of an older version runs, and somebody says so', async () => {
    const { sale, item } = await stage.fresh({ units: 16, shards: 2 })
    await stage.holdingNode('older')
    await ledger.sql("UPDATE nodes SET places_holder = ''")
    const keeper = stage.keeper(stage.sharded().parts)
    await keeper.untilDoor(item, 'gate')
    expect(await gateShardsOf(sale)).toBe(1)
    expect(keeper.lines.some(line => line.level === 'warn' && /older version/.test(line.message))).toBe(true)
  })
})
