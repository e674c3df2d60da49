import { describe, expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { type Meters, noMeters } from '../../base/meters.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

const settledNodes = async () =>
  (await ledger.sql("SELECT settled FROM nodes WHERE kind = 'holding' ORDER BY id")).map(row => row.settled)

describe('E10: the gate is away', () => {
  test('for a moment: nothing happens', async () => {
    const { item } = await stage.fresh()
    const keeper = stage.keeper({ gateDownMs: 600_000 })
    const { epoch } = await keeper.untilDoor(item, 'gate')
    stage.server.away = true
    for (let i = 0; i < 3; i++) await keeper.round()
    await keeper.idle()
    stage.server.away = false
    await keeper.round()
    await keeper.idle()
    expect(await stage.rights(item)).toEqual({ item, epoch, door: 'gate' })
  })

  test('for good, and everybody has confirmed: the ledger sells; the gate is rebuilt when it has been back for a while', async () => {
    const { item } = await stage.fresh()
    const keeper = stage.keeper()
    const { epoch } = await keeper.untilDoor(item, 'gate')
    const edge = await stage.holdingNode('edge')
    // Reserved, never placed: it lives on the gate's disk.
    const order = await stage.reserve(item, epoch, 'ann')
    stage.server.away = true
    await until('it is bumped', async () => {
      await keeper.round()
      return (await stage.rights(item)).epoch === epoch + 1
    })
    await edge.confirm(item, epoch + 1)
    await keeper.untilDoor(item, 'ledger')
    expect(await ledger.orders.placeDirectly(item, epoch + 1, [ledger.ask('ben')])).toMatchObject({ status: 'ok' })

    stage.server.away = false
    const backMs = systemClock.elapsed()
    const worker = stage.worker('w', item)
    await until('it is bumped again', async () => {
      await keeper.round()
      return (await stage.rights(item)).epoch === epoch + 2
    })
    expect(systemClock.elapsed() - backMs).toBeGreaterThanOrEqual(1_000)
    await edge.confirm(item, epoch + 2)
    await worker.work()
    await keeper.untilDoor(item, 'gate')
    // E5: its entry is of gate_epoch, so it has its row, whatever the door was meanwhile.
    expect(await ledger.orders.find([order])).toMatchObject([{ state: 'pending' }])
    expect((await stage.gate.status([item])).items).toMatchObject([{ left: 8, held: 2 }])
    await worker.stop()
  })

  test('and comes back while the item is drained for the ledger: it is opened at once, under the same epoch', async () => {
    const { item } = await stage.fresh()
    const keeper = stage.keeper()
    const { epoch } = await keeper.untilDoor(item, 'gate')
    const edge = await stage.holdingNode('edge')
    await edge.confirm(item, epoch)
    stage.server.away = true
    await until('it is raised', async () => {
      await keeper.round()
      return (await stage.rights(item)).epoch === epoch + 1
    })
    // The edge has not confirmed yet: the item drains.
    stage.server.away = false
    await edge.confirm(item, epoch + 1)
    expect(await keeper.untilDoor(item, 'gate')).toMatchObject({ epoch: epoch + 1 })
    expect((await stage.gate.status([item])).items).toMatchObject([{ epoch: epoch + 1, left: 10 }])
  })

  test('because it is full: it is fenced, but not taken for one that is back, and the ledger sells', async () => {
    const { item } = await stage.fresh()
    const full = { now: false }
    const unlessFull = () => {
      if (full.now) throw new Fault('gate_away', 'out of memory', { retryable: true })
    }
    const { gate } = stage
    const keeper = stage.keeper({
      gate: {
        ...gate,
        async reserve(...call) {
          unlessFull()
          return gate.reserve(...call)
        },
        async load(...call) {
          unlessFull()
          return gate.load(...call)
        },
      },
    })
    const { epoch } = await keeper.untilDoor(item, 'gate')
    full.now = true
    expect(await keeper.untilDoor(item, 'ledger')).toMatchObject({ epoch: epoch + 1 })
    full.now = false
    await keeper.untilDoor(item, 'gate')
  })

  test('again and again: each time it must have been back for longer before it sells again', async () => {
    const { item } = await stage.fresh()
    let nowMs = 0
    const clock = { ...systemClock, elapsed: () => nowMs }
    const keeper = stage.keeper({ clock, backMs: 1_000 })
    await keeper.untilDoor(item, 'gate')
    const neededMs: number[] = []
    for (let i = 0; i < 4; i++) {
      stage.server.away = true
      await until('the ledger sells', async () => {
        nowMs += 100
        await keeper.round()
        await keeper.idle()
        return (await stage.rights(item)).door === 'ledger'
      })
      stage.server.away = false
      await keeper.round()
      const backMs = nowMs
      await until('it is rebuilt', async () => {
        nowMs += 100
        await keeper.round()
        await keeper.idle()
        return (await stage.rights(item)).door === 'gate'
      })
      neededMs.push(nowMs - backMs)
    }
    expect(neededMs).toEqual([1_000, 2_000, 4_000, 8_000])
  })

  test('again and again, and back each time before it is done without: from the third time on the ledger sells meanwhile', async () => {
    const { item } = await stage.fresh()
    let nowMs = 0
    const keeper = stage.keeper({ clock: { ...systemClock, elapsed: () => nowMs }, backMs: 1_000 })
    const edge = await stage.holdingNode('edge')
    let { epoch } = await keeper.untilDoor(item, 'gate')
    await edge.confirm(item, epoch)
    const doors: string[] = []
    for (let i = 0; i < 3; i++) {
      stage.server.away = true
      const before = epoch
      await until('it is raised', async () => {
        nowMs += 100
        await keeper.round()
        epoch = (await stage.rights(item)).epoch
        return epoch > before
      })
      // The edge has not confirmed yet: the item drains.
      stage.server.away = false
      await edge.confirm(item, epoch)
      await keeper.idle()
      doors.push((await stage.rights(item)).door)
    }
    expect(doors).toEqual(['gate', 'gate', 'ledger'])

    await keeper.round()
    const backMs = nowMs
    await until('it is raised', async () => {
      nowMs += 100
      await keeper.round()
      return (await stage.rights(item)).epoch > epoch
    })
    expect(nowMs - backMs).toBeGreaterThanOrEqual(4_000)
    await edge.confirm(item, epoch + 1)
    await keeper.untilDoor(item, 'gate')
  })

  test('again and again, while a process is gone without a word: it is opened as soon as it is back, because the ledger may not sell', async () => {
    const { item } = await stage.fresh()
    const keeper = stage.keeper()
    const edge = await stage.holdingNode('edge')
    let { epoch } = await keeper.untilDoor(item, 'gate')
    await edge.confirm(item, epoch)
    for (let i = 0; i < 3; i++) {
      stage.server.away = true
      const before = epoch
      await until('it is raised', async () => {
        await keeper.round()
        epoch = (await stage.rights(item)).epoch
        return epoch > before
      })
      stage.server.away = false
      if (i < 2) await edge.confirm(item, epoch)
      else await ledger.sql("UPDATE nodes SET lease_until = clock_timestamp() WHERE kind = 'holding'")
      await keeper.idle()
      expect(await stage.rights(item)).toMatchObject({ epoch, door: 'gate' })
    }
  })

  test('and the item says so: nobody sells', async () => {
    const { item } = await stage.fresh({ whenGateDown: 'shut' })
    const keeper = stage.keeper()
    await keeper.untilDoor(item, 'gate')
    stage.server.away = true
    await keeper.untilDoor(item, 'shut')
  })

  test('and a process is gone without a word: shut, with an alarm; an operator may decide; the gate’s return ends it', async () => {
    const { sale, item } = await stage.fresh()
    const counted: string[] = []
    const meters: Meters = {
      ...noMeters,
      count: (family, which) => void (family === 'alarms' && counted.push(which)),
    }
    const keeper = stage.keeper({ meters })
    await keeper.untilDoor(item, 'gate')
    const edge = await stage.holdingNode('edge')
    await edge.lapse()
    stage.server.away = true
    const { epoch } = await keeper.untilDoor(item, 'shut')
    // The door is shut first, and said so afterwards.
    await keeper.idle()
    expect(keeper.lines.filter(line => line.fields.alarm === 'door_shut')).toMatchObject([{ fields: { lapsed: 1 } }])
    expect(counted).toEqual(['door_shut'])
    for (let i = 0; i < 3; i++) await keeper.round()
    expect((await stage.rights(item)).door).toBe('shut')

    expect(await ledger.rights.openLedgerDoor(item, 'olga')).toBe(true)
    for (let i = 0; i < 3; i++) await keeper.round()
    await keeper.idle()
    expect(await stage.rights(item)).toEqual({ item, epoch, door: 'ledger' })
    expect(await ledger.orders.placeDirectly(item, epoch, [ledger.ask('ben')])).toMatchObject({ status: 'ok' })

    stage.server.away = false
    await keeper.untilDoor(item, 'gate')
    expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 1 })
  })

  test('a door that a dead keeper left draining is opened too', async () => {
    const { item } = await stage.fresh()
    await stage.keeper().untilDoor(item, 'gate')
    await ledger.rights.raiseEpoch(item)
    stage.server.away = true
    await stage.keeper().untilDoor(item, 'ledger')
  })

  test('an entry that a wrong clock has dated in the future tells nothing of its age: nobody is settled before it is placed', async () => {
    const { item } = await stage.fresh()
    const { epoch } = await stage.keeper().untilDoor(item, 'gate')
    await stage.holdingNode('gone')
    await ledger.sql("UPDATE nodes SET lease_until = now() - interval '30 seconds'")
    stage.put(item, epoch, [{ ...stage.ask('ann'), reservedAtMs: systemClock.now() + 600_000 }])
    await stage.keeper().round()
    expect(await settledNodes()).toEqual([false])
    stage.entries.clear()
    await stage.keeper().round()
    expect(await settledNodes()).toEqual([true])
  })

  test('what lapsed before the oldest entry that waits has left nothing behind, and does not shut the door', async () => {
    const { item } = await stage.fresh()
    const { epoch } = await stage.keeper().untilDoor(item, 'gate')
    await stage.holdingNode('long gone')
    await stage.holdingNode('gone')
    await ledger.sql("UPDATE nodes SET lease_until = now() - interval '2 minutes' WHERE holder = 'long gone'")
    await ledger.sql("UPDATE nodes SET lease_until = now() - interval '30 seconds' WHERE holder = 'gone'")
    const waits = stage.ask('ann')
    stage.put(item, epoch, [{ ...waits, reservedAtMs: systemClock.now() - 60_000 }])
    // It may be of whoever was there a minute ago.
    await stage.keeper().round()
    expect(await settledNodes()).toEqual([true, false])
    stage.entries.clear()

    // An outbox that was lost with the gate is empty too: that settles nobody.
    stage.restartEmpty()
    const keeper = stage.keeper()
    await keeper.round()
    expect(await settledNodes()).toEqual([true, false])
    await keeper.idle()
    await stage.keeper().round()
    expect(await settledNodes()).toEqual([true, true])

    stage.server.away = true
    await stage.keeper().untilDoor(item, 'ledger')
  })
})

describe('E10: a process died, and the gates are on several servers', () => {
  /** Two items whose gates are on servers of their own, both on sale; a process that sold them has died. */
  async function twoServers() {
    const { item: one } = await stage.fresh()
    const { item: other } = await ledger.openItem()
    await ledger.sql("UPDATE items SET epoch = 0, gate_epoch = 0, door = 'shut' WHERE id = $1", [other])
    const down = new Set<string>()
    const failIfDown = (item: string) => {
      if (down.has(item)) throw new Fault('gate_away', 'the gate does not answer', { retryable: true })
    }
    const { gate } = stage
    const parts: Partial<Parameters<typeof stage.keeper>[0]> = {
      gate: {
        ...gate,
        async status(items) {
          return {
            ...(await gate.status(items.filter(item => !down.has(item)))),
            away: items.filter(item => down.has(item)),
          }
        },
        async reserve(item, ...rest) {
          failIfDown(item)
          return gate.reserve(item, ...rest)
        },
        async fence(item, ...rest) {
          failIfDown(item)
          return gate.fence(item, ...rest)
        },
      },
      outbox: {
        async depth(items) {
          for (const item of items) failIfDown(item)
          return stage.outbox.depth(items)
        },
      },
    }
    const keeper = stage.keeper(parts)
    for (const item of [one, other]) await keeper.untilDoor(item, 'gate')
    const edge = await stage.holdingNode('edge')
    return { one, other, down, parts, edge }
  }

  test('an item that is away keeps no other unsettled: the next outage opens the ledger’s door', async () => {
    const { one, other, down, parts, edge } = await twoServers()
    await edge.lapse()
    down.add(other)
    const keeper = stage.keeper({ ...parts, gateDownMs: 600_000 })
    await keeper.round()
    expect(await settledNodes(), 'what it left at the silent server is not known').toEqual([false])
    down.add(one)
    const later = stage.keeper(parts)
    expect((await later.untilDoor(one, 'ledger')).door).toBe('ledger')
    expect((await later.untilDoor(other, 'shut')).door).toBe('shut')
  })

  test('an entry that waits keeps its own item unsettled, and no other', async () => {
    const { one, other, down, parts, edge } = await twoServers()
    await edge.lapse()
    stage.put(other, 1, [{ ...stage.ask('ann'), reservedAtMs: systemClock.now() - 120_000 }])
    await stage.keeper(parts).round()
    down.add(one)
    down.add(other)
    const later = stage.keeper(parts)
    await later.untilDoor(one, 'ledger')
    await later.untilDoor(other, 'shut')
  })

  test('a process that comes back is unsettled again, for every item', async () => {
    const { one, other, down, parts, edge } = await twoServers()
    await edge.lapse()
    down.add(other)
    await stage.keeper({ ...parts, gateDownMs: 600_000 }).round()
    await edge.renew()
    await edge.lapse()
    down.add(one)
    await stage.keeper(parts).untilDoor(one, 'shut')
  })
})

describe('the ledger’s own items', () => {
  test('go behind the ledger and stay there, with or without a gate', async () => {
    const { item } = await stage.fresh({ homeDoor: 'ledger' })
    stage.server.away = true
    const keeper = stage.keeper()
    const { epoch } = await keeper.untilDoor(item, 'ledger')
    stage.server.away = false
    for (let i = 0; i < 3; i++) await keeper.round()
    await keeper.idle()
    expect(await stage.rights(item)).toEqual({ item, epoch, door: 'ledger' })
    expect((await stage.gate.status([item])).items).toEqual([])
  })
})
