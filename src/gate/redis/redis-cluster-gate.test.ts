import { describe, expect, test } from 'bun:test'
import { until } from '../../../test/harness/until.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { slotOf } from '../../base/redis/slots.ts'
import { ask, codes, openTerms } from './redis-gate.fixture.ts'
import { RedisGate } from './redis-gate.ts'
import { createRedisOutbox } from './redis-outbox.ts'
import { clusterForAll, REPLICA, redisContract } from './redis-suites.fixture.ts'

const SOON_MS = 120_000
const { playground, cluster } = clusterForAll()

redisContract('redis gate on a cluster', { url: () => cluster().url, ...REPLICA })

describe('redis gate on a cluster', () => {
  /** Items, as many as there are primaries, each on another. */
  async function spread(from: number): Promise<readonly string[]> {
    const items = new Map<number, string>()
    for (let i = from; items.size < 3; i++) {
      const { port } = await cluster().ownerOf(slotOf(String(i)))
      if (!items.has(port)) items.set(port, String(i))
    }
    return [...items.values()]
  }

  async function openItem(items: readonly string[]) {
    const connection = await connect(playground, cluster().url, { ...REPLICA, timeoutMs: 6_000 })
    const gate = new RedisGate(connection)
    const terms = await openTerms(gate)
    for (const item of items) expect(await gate.activate(item, 1, terms)).toEqual({ status: 'done' })
    return { gate, outbox: createRedisOutbox(connection), connection }
  }

  test('items on three servers are looked at together, each with its own stock', async () => {
    const items = await spread(1_000)
    const { gate, outbox } = await openItem(items)
    for (const [i, item] of items.entries())
      for (let n = 0; n <= i; n++) expect(codes(await gate.reserve(item, 1, [ask(`b${n}`)]))).toEqual(['reserved'])
    const { behindMs, away, items: gateStatuses } = await gate.status(items)
    expect(gateStatuses.map(({ item, left }) => [item, left]).toSorted()).toEqual(
      items.map((item, i) => [item, 9 - i]).toSorted(),
    )
    expect(away).toEqual([])
    expect(behindMs).toBeLessThan(1_000)
    const depths = await outbox.depth(items)
    expect(depths.map(({ item, units }) => [item, units]).toSorted()).toEqual(
      items.map((item, i) => [item, i + 1]).toSorted(),
    )
  })

  test('every server is asked once for all its items, and no less while one of their slots is on its way', async () => {
    const items = Array.from({ length: 60 }, (_, i) => String(5_000 + i))
    const { gate, outbox, connection } = await openItem(items)
    const scriptsRun = async () => {
      const stats = await Promise.all(connection.primaries().map(one => one.command(['INFO', 'commandstats'])))
      const runs = stats.map(text => Number(/cmdstat_evalsha:calls=(\d+)/.exec(String(text))?.[1] ?? 0))
      return runs.reduce((sum, one) => sum + one, 0)
    }
    // The scripts are known everywhere from here on.
    await Promise.all([gate.status(items), outbox.depth(items)])
    const before = await scriptsRun()
    expect((await gate.status(items)).items).toHaveLength(60)
    expect(await outbox.depth(items)).toHaveLength(60)
    expect((await scriptsRun()) - before).toBe(6)

    const slot = slotOf(items[0]!)
    const to = await cluster().anotherThan(slot)
    const from = await cluster().beginMove(slot, to)
    await from.command('MIGRATE', '127.0.0.1', String(to.port), `{${items[0]}}:gate`, '0', '5000')
    const { items: shown, away } = await gate.status(items)
    expect(away).toEqual([items[0]!])
    expect(shown).toHaveLength(59)
    while ((await cluster().carry(slot, from, to)) > 0);
    await cluster().endMove(slot, from, to)
    await until('all answer again', async () => (await gate.status(items)).away?.length === 0, SOON_MS)
  })

  test('a server that does not answer takes away its own items and nobody else’s', async () => {
    const items = await spread(2_000)
    const { gate, outbox, connection } = await openItem(items)
    const silent = await cluster().ownerOf(slotOf(items[0]!))
    process.kill(silent.pid, 'SIGSTOP')
    try {
      expect(await gate.reserve(items[0]!, 1, [ask('a')])).toEqual({ status: 'unknown' })
      const { items: gateStatuses, away } = await gate.status(items)
      expect(away).toEqual([items[0]!])
      expect(gateStatuses.map(({ item }) => item).toSorted()).toEqual(items.slice(1).toSorted())
      for (const item of items.slice(1)) expect(codes(await gate.reserve(item, 1, [ask('a')]))).toEqual(['reserved'])
      await expect(gate.status([items[0]!])).rejects.toMatchObject({ name: 'Fault' })
      // Who watches sees the others; who decides is told nothing rather than half of it.
      const seen = await outbox.status(items)
      expect(seen.away).toEqual([items[0]!])
      expect(seen.items.map(({ item, units }) => [item, units]).toSorted()).toEqual(
        items
          .slice(1)
          .map(item => [item, 1])
          .toSorted(),
      )
      expect(await outbox.status([items[0]!])).toEqual({ items: [], away: [items[0]!] })
      await expect(outbox.depth(items)).rejects.toMatchObject({ name: 'Fault' })
    } finally {
      process.kill(silent.pid, 'SIGCONT')
    }
    await until('all of them again', () => connection.connected(), SOON_MS)
    await until('a status at all', async () => (await gate.status(items)).away?.length === 0, SOON_MS)
    await until('the outbox of all', async () => (await outbox.status(items)).away.length === 0, SOON_MS)
    // Its replica follows a moment later; until then it acknowledges nothing.
    await until(
      'acknowledgements again',
      async () => !/unknown|busy/.test(String(codes(await gate.reserve(items[0]!, 1, [ask('a')])))),
      SOON_MS,
    )
  }, 300_000)

  test('a slot that moves: its item sells nothing on the way and nothing under the old epoch where it arrives (E1); a rebuild does', async () => {
    const [item] = await spread(3_000)
    const slot = slotOf(item!)
    const { gate, outbox } = await openItem([item!])
    expect(codes(await gate.reserve(item!, 1, [ask('a')]))).toEqual(['reserved'])
    const to = await cluster().anotherThan(slot)
    const from = await cluster().beginMove(slot, to)
    // Nothing has left yet.
    expect(codes(await gate.reserve(item!, 1, [ask('b')]))).toEqual(['reserved'])
    await from.command('MIGRATE', '127.0.0.1', String(to.port), `{${item}}:1:outbox`, '0', '5000')
    // Part of it is here and part of it there: nobody sells, nobody builds, and an outbox that left is not an empty one.
    expect(await gate.reserve(item!, 1, [ask('c')])).toEqual({ status: 'busy' })
    expect(await gate.load(item!, 2, [])).toEqual({ status: 'unknown' })
    await expect(outbox.depth([item!])).rejects.toMatchObject({ name: 'Fault' })
    while ((await cluster().carry(slot, from, to)) > 0);
    expect(await gate.reserve(item!, 1, [ask('c')])).toEqual({ status: 'busy' })
    await cluster().endMove(slot, from, to)

    expect((await gate.reserve(item!, 1, [ask('c')])).status).toBe('stale')
    expect((await gate.status([item!])).items).toEqual([])
    // What was acknowledged came along.
    expect((await outbox.depth([item!]))[0]).toMatchObject({ entries: 2, units: 2 })
    expect(await gate.fence(item!, 3)).toEqual({ status: 'done' })
    expect(await gate.activate(item!, 3, await openTerms(gate, { left: 8 }))).toEqual({ status: 'done' })
    expect(codes(await gate.reserve(item!, 3, [ask('c')]))).toEqual(['reserved'])

    // And back: the first server has what it had long ago, if anything, and does not sell it.
    await cluster().moveSlot(slot, from)
    expect((await gate.reserve(item!, 3, [ask('d')])).status).toBe('stale')
  })
})
