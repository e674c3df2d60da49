import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import type { Nodes } from '../nodes.ts'
import { createNodes } from './nodes.ts'

const NOW_MS = 1_800_000_000_000

const ledger = ledgerForFile()
let nodes: Nodes
beforeAll(async () => {
  nodes = createNodes(ledger.database)
}, 300_000)
beforeEach(() => ledger.sql('TRUNCATE nodes, node_items'))

const lapse = (node: number) =>
  ledger.sql("UPDATE nodes SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1", [node])

test('no two holders have the same number, also when a whole cluster starts at once', async () => {
  // Two pools: more calls are really under way at once than one of them would let through.
  const second = ledger.connect()
  const doors = [nodes, createNodes(second)]
  const holders = Array.from({ length: 80 }, (_, i) => `holder-${i}`)
  try {
    const leases = await Promise.all(holders.map((holder, i) => doors[i % 2]?.lease(holder, NOW_MS, 'plain')))
    expect(new Set(leases.map(lease => lease?.node)).size).toBe(holders.length)
  } finally {
    await second.close()
  }
})

test('a number that lapsed is handed on, and its new holder starts after the old bound', async () => {
  const first = await nodes.lease('first', NOW_MS, 'plain')
  expect(first).toMatchObject({ node: 0, fromMs: 0 })
  expect((await nodes.lease('second', NOW_MS, 'plain')).node).toBe(1)
  await lapse(0)
  // Not while the old bound lies ahead of the newcomer's clock: the old holder may have made ids up to there.
  expect((await nodes.lease('third', first.untilMs, 'plain')).node).toBe(2)
  const handed = await nodes.lease('fourth', first.untilMs + 1, 'plain')
  expect(handed).toMatchObject({ node: 0, fromMs: first.untilMs })
  expect(handed.untilMs).toBeGreaterThan(first.untilMs)
  expect(await nodes.renew(0, 'first', first.untilMs + 10), 'who lost it does not get it back').toBeUndefined()
})

test('renewing moves the bound forwards only, whatever the clock does', async () => {
  const { node, untilMs } = await nodes.lease('me', NOW_MS, 'plain')
  expect(await nodes.renew(node, 'me', NOW_MS + 5_000)).toBe(untilMs + 5_000)
  expect(await nodes.renew(node, 'me', NOW_MS - 3_600_000)).toBe(untilMs + 5_000)
  expect(await nodes.renew(node, 'somebody else', NOW_MS)).toBeUndefined()
})

test('a number given back is free at once, from the last millisecond that was used', async () => {
  const { node } = await nodes.lease('me', NOW_MS, 'plain')
  await nodes.giveBack(node, 'somebody else', NOW_MS + 1)
  expect((await nodes.lease('other', NOW_MS + 10, 'plain')).node).toBe(1)
  await nodes.giveBack(node, 'me', NOW_MS + 1)
  expect(await nodes.lease('next', NOW_MS + 10, 'plain')).toMatchObject({ node, fromMs: NOW_MS + 1 })
})

test('a fault when all ids are leased', async () => {
  await ledger.sql(
    "INSERT INTO nodes (id, holder, until_ms, lease_until) SELECT n, 'x', 0, clock_timestamp() + interval '1 minute' FROM generate_series(0, 1023) n",
  )
  await expect(nodes.lease('late', NOW_MS, 'plain')).rejects.toMatchObject({ code: 'no_node_id' })
})

describe('E4: drained means that every holding process has confirmed', () => {
  const ITEM = '77'
  const seen = (epoch: number, item = ITEM) => [{ item, epoch }]

  test('holding processes that have not confirmed this epoch of this item are waited for; plain ones are not', async () => {
    const { node } = await nodes.lease('edge', NOW_MS, 'holding')
    const other = await nodes.lease('worker', NOW_MS, 'holding')
    await nodes.lease('keeper', NOW_MS, 'plain')
    expect(await nodes.unconfirmed(ITEM, 3)).toEqual({ waiting: 2, lapsed: 0 })
    expect(await nodes.confirm(node, 'edge', [...seen(3), { item: '78', epoch: 9 }])).toBe(true)
    expect(await nodes.confirm(other.node, 'worker', seen(2))).toBe(true)
    expect(await nodes.unconfirmed(ITEM, 3)).toEqual({ waiting: 1, lapsed: 0 })
    expect(await nodes.unconfirmed(ITEM, 4)).toEqual({ waiting: 2, lapsed: 0 })
    expect(await nodes.unconfirmed('78', 9)).toEqual({ waiting: 1, lapsed: 0 })
    expect(await nodes.confirm(other.node, 'worker', seen(4))).toBe(true)
    expect(await nodes.unconfirmed(ITEM, 3)).toEqual({ waiting: 0, lapsed: 0 })
  })

  test('a confirmation that comes late or twice does not take back a newer one', async () => {
    const { node } = await nodes.lease('edge', NOW_MS, 'holding')
    for (const epoch of [5, 5, 3]) expect(await nodes.confirm(node, 'edge', seen(epoch))).toBe(true)
    expect(await nodes.unconfirmed(ITEM, 5)).toEqual({ waiting: 0, lapsed: 0 })
    expect(await nodes.confirm(node, 'edge', [...seen(4), ...seen(6), ...seen(5)])).toBe(true)
    expect(await nodes.unconfirmed(ITEM, 6)).toEqual({ waiting: 0, lapsed: 0 })
    expect(await nodes.confirm(node, 'edge', [])).toBe(true)
  })

  test('only the holder of a valid lease can confirm', async () => {
    const { node } = await nodes.lease('edge', NOW_MS, 'holding')
    expect(await nodes.confirm(node, 'somebody else', seen(3))).toBe(false)
    expect(await nodes.confirm(node + 1, 'edge', seen(3))).toBe(false)
    await lapse(node)
    expect(await nodes.confirm(node, 'edge', seen(3))).toBe(false)
    expect(await nodes.unconfirmed(ITEM, 3)).toEqual({ waiting: 0, lapsed: 1 })
    expect(await nodes.renew(node, 'edge', NOW_MS)).toBeDefined()
    expect(await nodes.unconfirmed(ITEM, 3), 'who is back is waited for again').toEqual({ waiting: 1, lapsed: 0 })
    expect(await nodes.confirm(node, 'edge', seen(3))).toBe(true)
    await lapse(node)
    expect(await nodes.unconfirmed(ITEM, 3), 'confirmed before it lapsed').toEqual({ waiting: 0, lapsed: 0 })
  })

  test('the next holder of an id does not inherit what the last one confirmed', async () => {
    const first = await nodes.lease('first', NOW_MS, 'holding')
    await nodes.confirm(first.node, 'first', seen(3))
    await nodes.giveBack(first.node, 'first', NOW_MS)
    const second = await nodes.lease('second', NOW_MS + 1, 'holding')
    expect(second.node).toBe(first.node)
    expect(await nodes.unconfirmed(ITEM, 3)).toEqual({ waiting: 1, lapsed: 0 })
    // Not even if the last holder's confirmation arrives after all.
    await ledger.sql(
      "INSERT INTO node_items (node, holder, item, epoch) VALUES ($1, 'first', $2, 3) ON CONFLICT DO NOTHING",
      [first.node, ITEM],
    )
    expect(await nodes.unconfirmed(ITEM, 3)).toEqual({ waiting: 1, lapsed: 0 })
    await nodes.giveBack(second.node, 'second', NOW_MS + 1)
    await nodes.lease('third', NOW_MS + 2, 'holding')
    expect(await ledger.sql('SELECT holder FROM node_items')).toEqual([])
  })
})

describe('E10: a process that died unconfirmed is remembered', () => {
  test('its id is not leased again while another is free', async () => {
    const dead = await nodes.lease('edge', NOW_MS, 'holding')
    await lapse(dead.node)
    const laterMs = dead.untilMs + 1
    for (const expected of [1, 2])
      expect((await nodes.lease(`new-${expected}`, laterMs, 'holding')).node).toBe(expected)
    expect(await nodes.unconfirmed('77', 1)).toEqual({ waiting: 2, lapsed: 1 })
    // A whole cluster that starts at once passes it over too.
    const many = await Promise.all(Array.from({ length: 40 }, (_, i) => nodes.lease(`many-${i}`, laterMs, 'plain')))
    expect(many.map(lease => lease.node)).not.toContain(dead.node)
    // All others taken: an id is worth more than the memory.
    await ledger.sql(
      "INSERT INTO nodes (id, holder, until_ms, lease_until) SELECT n, 'x', 0, clock_timestamp() + interval '1 minute' FROM generate_series(0, 1023) n ON CONFLICT DO NOTHING",
    )
    expect(await nodes.lease('last', laterMs, 'holding')).toMatchObject({ node: dead.node, fromMs: dead.untilMs })
  })

  test('giving back settles, and a renewal that was under way does not undo it', async () => {
    const { node } = await nodes.lease('edge', NOW_MS, 'holding')
    await nodes.giveBack(node, 'edge', NOW_MS)
    expect(await nodes.unconfirmed('77', 1)).toEqual({ waiting: 0, lapsed: 0 })
    expect(await nodes.renew(node, 'edge', NOW_MS + 1)).toBeUndefined()
    expect(await nodes.unconfirmed('77', 1)).toEqual({ waiting: 0, lapsed: 0 })
    expect((await nodes.lease('next', NOW_MS + 1, 'holding')).node).toBe(node)
  })

  test('settling ends it, for leases that ended before the moment and for no others; a process that comes back is unsettled again', async () => {
    const old = await nodes.lease('old', NOW_MS, 'holding')
    const late = await nodes.lease('late', NOW_MS, 'holding')
    await nodes.lease('alive', NOW_MS, 'holding')
    await ledger.sql("UPDATE nodes SET lease_until = clock_timestamp() - interval '1 minute' WHERE id = $1", [old.node])
    await lapse(late.node)
    const nowMs = await ledger.rights.now()
    await nodes.settle(nowMs - 30_000)
    expect(await nodes.unconfirmed('77', 1)).toEqual({ waiting: 1, lapsed: 1 })
    await nodes.settle(nowMs + 3_600_000)
    expect(await nodes.unconfirmed('77', 1)).toEqual({ waiting: 1, lapsed: 0 })
    await nodes.renew(old.node, 'old', NOW_MS)
    await lapse(old.node)
    expect(await nodes.unconfirmed('77', 1)).toEqual({ waiting: 1, lapsed: 1 })
  })

  test('items are settled one by one, each up to a moment of its own, for the lease that lapsed and for no epoch', async () => {
    const dead = await nodes.lease('dead', NOW_MS, 'holding')
    const alive = await nodes.lease('alive', NOW_MS, 'holding')
    await nodes.confirm(dead.node, 'dead', [{ item: '78', epoch: 4 }])
    await ledger.sql("UPDATE nodes SET lease_until = clock_timestamp() - interval '1 minute' WHERE id = $1", [
      dead.node,
    ])
    const nowMs = await ledger.rights.now()
    const settled = (item: string, beforeMs: number) => ({ item, beforeMs })
    const twice = [settled('77', nowMs), settled('78', nowMs), settled('79', nowMs - 120_000)]
    for (let i = 0; i < 2; i++) await nodes.settleItems(twice)
    const lapsed = async (item: string, epoch: number) => (await nodes.unconfirmed(item, epoch)).lapsed
    expect([await lapsed('77', 9), await lapsed('78', 9), await lapsed('79', 9), await lapsed('80', 9)]).toEqual([
      0, 0, 1, 1,
    ])
    expect(await nodes.unconfirmed('77', 1), 'one that lives is waited for').toEqual({ waiting: 1, lapsed: 0 })
    expect(await nodes.renew(dead.node, 'dead', NOW_MS)).toBeDefined()
    expect(await nodes.unconfirmed('77', 1), 'who is back is waited for again').toEqual({ waiting: 2, lapsed: 0 })
    expect(await nodes.unconfirmed('78', 4), 'what it confirmed stays').toEqual({ waiting: 1, lapsed: 0 })
    await lapse(dead.node)
    await lapse(alive.node)
    expect([await lapsed('77', 1), await lapsed('78', 4)]).toEqual([2, 1])
  })

  test('a lost answer leaves no lease without a holder', async () => {
    const lost = await nodes.lease('edge', NOW_MS, 'holding')
    const heard = await nodes.lease('edge', NOW_MS, 'holding')
    expect(heard.node).not.toBe(lost.node)
    expect(await nodes.unconfirmed('77', 1)).toEqual({ waiting: 1, lapsed: 0 })
    await lapse(heard.node)
    expect(await nodes.unconfirmed('77', 1)).toEqual({ waiting: 0, lapsed: 1 })
  })
})

describe('E2: the longest fence', () => {
  test('is that of processes with a lease, or lapsed within their own fence; one that gave its lease back does not count', async () => {
    expect((await nodes.holding()).longestFenceMs).toBe(0)
    const short = await nodes.lease('short', NOW_MS, 'holding', 4_000)
    const long = await nodes.lease('long', NOW_MS, 'holding', 90_000)
    await nodes.lease('keeper', NOW_MS, 'plain')
    expect((await nodes.holding()).longestFenceMs).toBe(90_000)
    // Cut off from the ledger: it trusts what it read last until its own fence has passed.
    await lapse(long.node)
    expect((await nodes.holding()).longestFenceMs).toBe(90_000)
    await ledger.sql("UPDATE nodes SET lease_until = now() - interval '91 seconds' WHERE id = $1", [long.node])
    expect((await nodes.holding()).longestFenceMs).toBe(4_000)
    await nodes.giveBack(short.node, 'short', NOW_MS)
    expect((await nodes.holding()).longestFenceMs).toBe(0)
  })

  test('is the present holder’s of an id', async () => {
    const { node } = await nodes.lease('first', NOW_MS, 'holding', 90_000)
    await nodes.giveBack(node, 'first', NOW_MS)
    expect((await nodes.lease('second', NOW_MS + 1, 'holding', 2_000)).node).toBe(node)
    expect((await nodes.holding()).longestFenceMs).toBe(2_000)
  })
})

test('a process that would sell alone sees which holding processes live, and which lapsed unsettled', async () => {
  expect(await nodes.holding()).toMatchObject({ live: 0, unsettled: 0 })
  const edge = await nodes.lease('edge', NOW_MS, 'holding')
  const worker = await nodes.lease('worker', NOW_MS, 'holding')
  await nodes.lease('alone', NOW_MS, 'plain')
  expect(await nodes.holding()).toMatchObject({ live: 2, unsettled: 0 })
  await nodes.giveBack(worker.node, 'worker', NOW_MS)
  await lapse(edge.node)
  expect(await nodes.holding()).toMatchObject({ live: 0, unsettled: 1 })
  await nodes.settle((await ledger.rights.now()) + 1_000)
  expect(await nodes.holding()).toMatchObject({ live: 0, unsettled: 0 })
})

test('a lease is as long as it was asked for', async () => {
  const short = createNodes(ledger.database, { leaseMs: 10_000 })
  const { node, untilMs } = await short.lease('edge', NOW_MS, 'holding')
  expect(untilMs).toBe(NOW_MS + 10_000)
  expect(await short.renew(node, 'edge', NOW_MS + 2_000)).toBe(NOW_MS + 12_000)
  const [row] = await ledger.sql(
    "SELECT lease_until - clock_timestamp() BETWEEN interval '5 seconds' AND interval '10 seconds' AS short FROM nodes",
  )
  expect(row?.short).toBe(true)
})

describe('a lease that lies further ahead than any lease was written by a clock that went back since', () => {
  const hourAhead = (node: number) =>
    ledger.sql("UPDATE nodes SET lease_until = clock_timestamp() + interval '1 hour' WHERE id = $1", [node])
  const leftMs = async (node: number) => {
    const [row] = await ledger.sql(
      'SELECT extract(epoch FROM lease_until - clock_timestamp())::float * 1000 AS ms FROM nodes WHERE id = $1',
      [node],
    )
    return Number(row?.ms)
  }

  test('a process that died under it is waited for as long as a lease, not until the clock has caught up', async () => {
    const dead = await nodes.lease('dead', NOW_MS, 'holding')
    await hourAhead(dead.node)
    const alive = await nodes.lease('alive', NOW_MS, 'plain')
    expect(await nodes.holding()).toMatchObject({ live: 1, unsettled: 0 })
    const short = createNodes(ledger.database, { leaseMs: 10_000 })
    expect(await short.renew(alive.node, 'alive', NOW_MS)).toBe(NOW_MS + 30_000)
    expect(await leftMs(dead.node)).toBeWithin(0, 10_000)
    await lapse(dead.node)
    expect(await nodes.holding(), 'it never said that it left nothing behind').toMatchObject({ live: 0, unsettled: 1 })
    expect(await nodes.unconfirmed('77', 1)).toEqual({ waiting: 0, lapsed: 1 })
  })

  test('a live process is still waited for, and has its own lease again when it renews', async () => {
    const one = await nodes.lease('one', NOW_MS, 'holding')
    const other = await nodes.lease('other', NOW_MS, 'holding')
    await hourAhead(one.node)
    await hourAhead(other.node)
    await nodes.renew(one.node, 'one', NOW_MS)
    expect(await nodes.unconfirmed('77', 1)).toEqual({ waiting: 2, lapsed: 0 })
    await nodes.renew(other.node, 'other', NOW_MS)
    for (const { node } of [one, other]) expect(await leftMs(node)).toBeWithin(0, 30_000)
  })

  test('all renew at once: none waits for another, and all keep their lease', async () => {
    const second = ledger.connect()
    const doors = [nodes, createNodes(second)]
    try {
      const held = []
      for (let i = 0; i < 40; i++) held.push((await nodes.lease(`n${i}`, NOW_MS, 'holding')).node)
      await ledger.sql("UPDATE nodes SET lease_until = clock_timestamp() + interval '1 hour'")
      const bounds = await Promise.all(held.map((node, i) => doors[i % 2]!.renew(node, `n${i}`, NOW_MS)))
      expect(bounds).not.toContain(undefined)
      for (const node of held) expect(await leftMs(node)).toBeLessThanOrEqual(30_000)
    } finally {
      await second.close()
    }
  })

  test('a lease of a minute is left as it is', async () => {
    const long = await createNodes(ledger.database, { leaseMs: 60_000 }).lease('long', NOW_MS, 'holding')
    const { node } = await nodes.lease('me', NOW_MS, 'plain')
    await nodes.renew(node, 'me', NOW_MS)
    expect(await leftMs(long.node)).toBeGreaterThan(40_000)
  })
})
