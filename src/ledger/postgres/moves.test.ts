import { describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { createNodes } from './nodes.ts'
import { createMoves } from './stock.ts'

const ledger = ledgerForFile()

/** As a keeper of a cluster rebuilds it. */
async function rebuild(item: string, compact = false) {
  const epoch = await ledger.rights.raiseEpoch(item)
  const seen: number[] = []
  const onPage = async () => void seen.push(-1)
  const terms = await ledger.rights.snapshot(item, epoch, onPage, compact, counts => void seen.push(counts.gateShards))
  await ledger.rights.setDoor(item, epoch, 'gate')
  return { epoch, terms, seen }
}

async function itemOf(sale: string) {
  const found = await ledger.sales.find(sale)
  return found!.items[0]!
}

describe('in how many shards the gate is built', () => {
  test('is decided with the snapshot, reported before its first page, and written with gate_epoch', async () => {
    const { sale, item, epoch: first } = await ledger.openItem({ units: 64, shards: 8 })
    await ledger.orders.place(item, first, true, [ledger.ask('somebody')])
    await ledger.stock.ask({ item, delta: 1, reason: 'test', by: 'test', key: undefined })
    const { epoch, terms, seen } = await rebuild(item)
    expect(seen).toEqual([8, -1])
    expect(terms).toMatchObject({ available: 64, gateShards: 8, olderVersions: false })
    expect(await itemOf(sale)).toMatchObject({ shards: 8, gateShards: 8, gateEpoch: epoch })
    const { sales } = await ledger.sales.followed()
    expect(sales.flatMap(one => one.items).find(one => one.id === item)).toMatchObject({ gateShards: 8 })
  })

  test('is one below eight units a shard, one when few are to be brought together, and one for a gate in the process', async () => {
    const { sale, item } = await ledger.openItem({ units: 64, shards: 8 })
    expect(await itemOf(sale)).toMatchObject({ shards: 8, gateShards: 1 })
    expect((await rebuild(item)).seen).toEqual([8])
    expect((await rebuild(item, true)).seen).toEqual([1])
    expect((await rebuild(item)).seen).toEqual([8])
    const { epoch } = await rebuild(item)
    await ledger.orders.place(item, epoch, true, [ledger.ask('somebody')])
    expect((await rebuild(item)).seen).toEqual([1, -1])
    expect(await itemOf(sale)).toMatchObject({ available: 63, gateShards: 1 })
    const { sale: alone, item: other } = await ledger.openItem({ units: 64, shards: 8 })
    await rebuild(other)
    await ledger.rebuild(other)
    expect(await itemOf(alone)).toMatchObject({ gateShards: 1 })
  })

  test('is not written by a keeper whose epoch is over', async () => {
    const { sale, item } = await ledger.openItem({ units: 64, shards: 8 })
    const mine = await ledger.rights.raiseEpoch(item)
    await rebuild(item, true)
    const begun = () => {
      throw new Error('a gate was begun')
    }
    expect(await ledger.rights.snapshot(item, mine, async () => {}, false, begun)).toBeUndefined()
    expect(await itemOf(sale)).toMatchObject({ gateShards: 1 })
  })

  test('is one as long as a process lives that does not know of shards, or lived a moment ago', async () => {
    const nodes = createNodes(ledger.database)
    const { item } = await ledger.openItem({ units: 64, shards: 8 })
    const { node } = await nodes.lease('of-this-version', systemClock.now(), 'holding', 0)
    expect((await rebuild(item)).seen).toEqual([8])
    // An older version takes the same id over: it writes its name, and nothing about shards.
    await ledger.sql(`UPDATE nodes SET holder = 'of-an-older-version' WHERE id = $1`, [node])
    expect((await rebuild(item)).terms).toMatchObject({ gateShards: 1, olderVersions: true })
    await ledger.sql(`UPDATE nodes SET lease_until = clock_timestamp() - interval '30 seconds' WHERE id = $1`, [node])
    expect((await rebuild(item)).seen).toEqual([1])
    await ledger.sql(`UPDATE nodes SET lease_until = clock_timestamp() - interval '2 minutes' WHERE id = $1`, [node])
    expect((await rebuild(item)).seen).toEqual([8])
    await ledger.sql('UPDATE nodes SET lease_until = clock_timestamp() + $2::interval WHERE id = $1', [node, '1 hour'])
    await nodes.giveBack(node, 'of-an-older-version', systemClock.now())
    expect((await rebuild(item)).seen).toEqual([8])
  })
})

describe('the journal of moves', () => {
  async function spread() {
    const { sale, item } = await ledger.openItem({ units: 100, shards: 4 })
    const { epoch } = await rebuild(item)
    return { sale, item, epoch, moves: createMoves(ledger.database) }
  }
  const openOf = async (item: string) => (await createMoves(ledger.database).open()).find(move => move.item === item)

  test('has one move of an item at a time, numbers upwards, and keeps every step', async () => {
    const { item, epoch, moves } = await spread()
    expect(await moves.ask(item, epoch, { from: 0, to: 3, wanted: 5 })).toBe(1)
    expect(await moves.ask(item, epoch, { from: 1, to: 2, wanted: 5 })).toBeUndefined()
    const asked = { item, no: 1, epoch, from: 0, to: 3, wanted: 5, taken: undefined, current: true }
    expect(await openOf(item)).toEqual(asked)
    expect(await moves.taken(item, 1, 4)).toBe(true)
    expect(await openOf(item)).toEqual({ ...asked, taken: 4 })
    await moves.end(item, 1, 'done')
    expect(await openOf(item)).toBeUndefined()
    expect(await moves.ask(item, epoch, { from: 3, to: 0, wanted: 1 })).toBe(2)
  })

  test('asked by two keepers at once: one of them gets the number', async () => {
    const { item, epoch, moves } = await spread()
    const asked = Array.from({ length: 8 }, (_, i) =>
      moves.ask(item, epoch, { from: i % 4, to: (i + 1) % 4, wanted: 1 }),
    )
    expect((await Promise.all(asked)).filter(no => no !== undefined)).toEqual([1])
  })

  test('never changes what was journalled, and a done needs a taken', async () => {
    const { item, epoch, moves } = await spread()
    await moves.ask(item, epoch, { from: 0, to: 1, wanted: 5 })
    await moves.end(item, 1, 'done')
    expect((await openOf(item))?.taken).toBeUndefined()
    expect([await moves.taken(item, 1, 3), await moves.taken(item, 1, 3), await moves.taken(item, 1, 2)]).toEqual([
      true,
      true,
      false,
    ])
    await moves.end(item, 1, 'done')
    await moves.end(item, 1, 'void')
    expect(await moves.taken(item, 1, 3)).toBe(false)
    expect(await ledger.sql('SELECT state, taken FROM shard_moves WHERE item = $1', [item])).toEqual([
      { state: 'done', taken: 3 },
    ])
    await moves.ask(item, epoch, { from: 0, to: 1, wanted: 5 })
    await moves.end(item, 2, 'void')
    expect(await moves.taken(item, 2, 5)).toBe(false)
  })

  test('takes a move only while the gate of that epoch sells the item, between shards that it has', async () => {
    const { item, epoch, moves } = await spread()
    expect(await moves.ask(item, epoch - 1, { from: 0, to: 1, wanted: 1 })).toBeUndefined()
    expect(await moves.ask(item, epoch, { from: 0, to: 4, wanted: 1 })).toBeUndefined()
    expect(await moves.ask(item, epoch, { from: 0, to: 1, wanted: 1 })).toBe(1)
    const next = await ledger.rights.raiseEpoch(item)
    expect(await openOf(item)).toMatchObject({ epoch, current: false })
    await moves.end(item, 1, 'void')
    expect(await moves.ask(item, epoch, { from: 0, to: 1, wanted: 1 })).toBeUndefined()
    expect(await moves.ask(item, next, { from: 0, to: 1, wanted: 1 })).toBeUndefined()
  })

  test('shows in the audit what may be between two shards, of the gate that sells', async () => {
    const { sale, item, epoch, moves } = await spread()
    const moving = async () => (await ledger.reconciliation.audit(sale))[0]?.moving
    expect(await moving()).toBe(0)
    await moves.ask(item, epoch, { from: 0, to: 1, wanted: 5 })
    expect(await moving()).toBe(5)
    await moves.taken(item, 1, 3)
    expect(await moving()).toBe(3)
    await rebuild(item)
    expect(await moving()).toBe(0)
    await moves.end(item, 1, 'void')
    expect(await moving()).toBe(0)
  })

  test('keeps the last thousand of an item', async () => {
    const { item, epoch, moves } = await spread()
    await ledger.sql(
      `INSERT INTO shard_moves (item, no, epoch, from_shard, to_shard, wanted, taken, state)
       SELECT $1, no, $2, 0, 1, 1, 1, 'done' FROM generate_series(1, 1200) AS no`,
      [item, epoch],
    )
    expect(await moves.ask(item, epoch, { from: 0, to: 1, wanted: 1 })).toBe(1_201)
    const [kept] = await ledger.sql('SELECT count(*)::int AS n, min(no) AS first FROM shard_moves WHERE item = $1', [
      item,
    ])
    expect(kept).toEqual({ n: 1_001, first: 201 })
  })
})
