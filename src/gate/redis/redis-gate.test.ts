import { afterEach, describe, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { caughtUp, promote, startRedis, startReplica } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { ask, codes, deafRoad, HOUR_MS, ITEM, openItem, openTerms } from './redis-gate.fixture.ts'
import { RedisGate } from './redis-gate.ts'
import { redisContract } from './redis-suites.fixture.ts'
import { readScript } from './scripts.ts'

redisContract('redis gate')

describe('redis gate', () => {
  const playground = new Playground()
  afterEach(() => playground.undo())
  const unknown = { status: 'unknown' } as const
  const busy = { status: 'busy' } as const
  /** One waits for the slowest machine, the other has given up soon: it is asked only what it is not to hear the answer of. */
  const PATIENT_MS = 20_000
  const HASTY_MS = 300
  const outboxOf = (epoch: number) => `{${ITEM}}:${epoch}:outbox`

  test('scripts the server has forgotten are handed in again, and run once', async () => {
    const server = await startRedis(playground)
    const { gate } = await openItem(playground, server.url)
    for (const buyer of ['a', 'b']) {
      await server.command('SCRIPT', 'FLUSH')
      expect(codes(await gate.reserve(ITEM, 1, [ask(buyer)]))).toEqual(['reserved'])
    }
    expect((await gate.status([ITEM])).items).toMatchObject([{ left: 8, held: 2, buyers: 2 }])
    expect(Number(await server.command('XLEN', outboxOf(1)))).toBe(2)
  })

  test('a full server is busy and has taken nothing; what gives back still works', async () => {
    const server = await startRedis(playground)
    const { gate, terms } = await openItem(playground, server.url)
    const first = ask('a')
    expect(codes(await gate.reserve(ITEM, 1, [first]))).toEqual(['reserved'])
    await server.command('CONFIG', 'SET', 'maxmemory', '1')
    expect(await gate.reserve(ITEM, 1, [ask('b')])).toEqual(busy)
    expect(await gate.load(ITEM, 2, [])).toEqual(unknown)
    expect(await gate.activate(ITEM, 2, terms)).toEqual(unknown)
    expect(await gate.release(ITEM, 1, [{ ...first, outcome: 'closed' }])).toEqual({ status: 'done' })
    expect(await gate.change(ITEM, 1, 1, 3)).toEqual({ status: 'done', taken: 3 })
    expect((await gate.status([ITEM])).items).toMatchObject([{ left: 13, held: 0, buyers: 1 }])
    expect(await gate.fence(ITEM, 2)).toEqual({ status: 'done' })
    expect(Number(await server.command('XLEN', outboxOf(1)))).toBe(1)
  })

  test('a server that must not write (too few replicas) is busy and has taken nothing', async () => {
    const server = await startRedis(playground)
    const { gate } = await openItem(playground, server.url)
    await server.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
    expect(await gate.reserve(ITEM, 1, [ask('a')])).toEqual(busy)
    expect(await gate.fence(ITEM, 2)).toEqual(unknown)
    expect((await gate.status([ITEM])).items).toMatchObject([{ epoch: 1, left: 10 }])
  })

  test('a server that loads its data is busy; afterwards it is another one', async () => {
    const first = await startRedis(playground, { config: ['rdbcompression no'] })
    const { gate: gateBefore } = await openItem(playground, first.url)
    expect(codes(await gateBefore.reserve(ITEM, 1, [ask('a')]))).toEqual(['reserved'])
    const keys = Array.from({ length: 3_000 }, (_, i) => [`filler${i}`, 'x'.repeat(1_100)])
    await first.command('MSET', ...keys.flat())
    const slowly = ['key-load-delay 5000', 'loading-process-events-interval-bytes 1024']
    const second = await startRedis(playground, { config: slowly })
    const gate = new RedisGate(await connect(playground, second.url))
    await second.command('REPLICAOF', '127.0.0.1', String(first.port))
    await until('it to load', async () => (await second.info('loading')) === '1')
    expect(await gate.reserve(ITEM, 1, [ask('b')])).toEqual(busy)
    expect(await gate.find(ITEM, 'a')).toEqual(unknown)
    await expect(gate.status([ITEM])).rejects.toMatchObject({ name: 'Fault', code: 'redis_loading' })
    await second.command('CONFIG', 'SET', 'key-load-delay', '0')
    await caughtUp(first, second)
    await promote(second)
    expect(await gate.reserve(ITEM, 1, [ask('b')])).toEqual({ status: 'stale', epoch: 1 })
  })

  test('a server that is not the primary any more is busy, and the connection is dropped to find the one that is', async () => {
    const primary = await startRedis(playground)
    const replica = await startReplica(playground, primary)
    const connection = await connect(playground, replica.url)
    const gate = new RedisGate(connection)
    const socket = await connection.command(['CLIENT', 'ID'])
    expect(await gate.reserve(ITEM, 1, [ask('a')])).toEqual(busy)
    expect(connection.connected()).toBe(false)
    expect(await gate.reserve(ITEM, 1, [ask('a')])).toEqual(busy)
    await until('another connection', () => connection.connected())
    expect(await connection.command(['CLIENT', 'ID'])).not.toBe(socket)
  })

  test('a silent server is unknown to everybody who asked; the same ids settle it', async () => {
    const server = await startRedis(playground)
    const { gate } = await openItem(playground, server.url, { timeoutMs: PATIENT_MS })
    const connection = await connect(playground, server.url, { timeoutMs: HASTY_MS })
    const hasty = new RedisGate(connection)
    const asks = [ask('a'), ask('b', { quantity: 2 })]
    process.kill(server.pid, 'SIGSTOP')
    const replies = await Promise.all([hasty.reserve(ITEM, 1, asks), hasty.find(ITEM, 'a'), hasty.fence(ITEM, 1)])
    expect(replies).toEqual([unknown, unknown, unknown])
    process.kill(server.pid, 'SIGCONT')
    await until('a connection', () => connection.connected())
    const settled = codes(await gate.reserve(ITEM, 1, asks))
    expect([
      ['same', 'same'],
      ['reserved', 'reserved'],
    ]).toContainEqual(settled as string[])
    expect((await gate.status([ITEM])).items).toMatchObject([{ left: 7, held: 3 }])
    expect(Number(await server.command('XLEN', outboxOf(1)))).toBe(1)
  })

  test('an answer that was lost on its way is unknown, though the server did it; the same ids give the same order', async () => {
    const server = await startRedis(playground)
    const road = await deafRoad(playground, server.port)
    const { gate } = await openItem(playground, server.url, { timeoutMs: PATIENT_MS })
    const connection = await connect(playground, `redis://127.0.0.1:${road.port}`, { timeoutMs: HASTY_MS })
    const hasty = new RedisGate(connection)
    const asks = [ask('a'), ask('b', { quantity: 2 })]
    // The script is known to the server from here on: it runs with the first word it hears of it.
    expect(codes(await gate.reserve(ITEM, 1, []))).toEqual([])
    road.deaf = true
    expect(await hasty.reserve(ITEM, 1, asks)).toEqual(unknown)
    road.deaf = false
    await until('a connection', () => connection.connected())
    await until('the server has done it', async () => (await gate.status([ITEM])).items[0]?.held === 3)
    const again = await gate.reserve(ITEM, 1, asks)
    expect(codes(again)).toEqual(['same', 'same'])
    expect('answers' in again && again.answers.map(answer => answer.order)).toEqual(asks.map(one => one.order))
    expect((await gate.status([ITEM])).items).toMatchObject([{ left: 7, held: 3 }])
    expect(Number(await server.command('XLEN', outboxOf(1)))).toBe(1)
  })

  test('a server that dies over a call leaves it unknown; one that is not there is busy', async () => {
    const server = await startRedis(playground)
    const { gate, connection } = await openItem(playground, server.url)
    process.kill(server.pid, 'SIGSTOP')
    const reply = gate.reserve(ITEM, 1, [ask('a')])
    const gateStatus = gate.status([ITEM]).catch((error: unknown) => error)
    // Written to the socket before the server is gone: nobody knows what became of it.
    await new Promise<void>(resolve => setImmediate(() => setImmediate(resolve)))
    await server.kill()
    expect(await reply).toEqual(unknown)
    expect(await gateStatus).toMatchObject({ code: 'redis_lost', outcomeUnknown: true })
    await until('the connection to be gone', () => !connection.connected())
    expect(await gate.reserve(ITEM, 1, [ask('a')])).toEqual(busy)
    expect(await gate.release(ITEM, 1, [])).toEqual(unknown)
    await expect(gate.status([ITEM])).rejects.toMatchObject({ code: 'redis_away', outcomeUnknown: false })
  })

  test('at the bound of the outbox a batch is busy and takes nothing, and who has an order still gets it', async () => {
    const server = await startRedis(playground)
    const { gate } = await openItem(playground, server.url, { outboxEntriesMax: 2 })
    for (const buyer of ['a', 'b']) expect(codes(await gate.reserve(ITEM, 1, [ask(buyer)]))).toEqual(['reserved'])
    expect(await gate.reserve(ITEM, 1, [ask('a'), ask('c')])).toEqual(busy)
    expect(codes(await gate.reserve(ITEM, 1, [ask('a'), ask('b')]))).toEqual(['same', 'same'])
    expect((await gate.status([ITEM])).items).toMatchObject([{ left: 8, held: 2, buyers: 2 }])
    expect(await gate.find(ITEM, 'c')).toEqual({ status: 'ok', holdings: [] })
  })

  test('a reservation is said on the channel of its database in the same act; a refusal and a `same` are not', async () => {
    const server = await startRedis(playground)
    const { gate, connection } = await openItem(playground, `${server.url}/3`)
    const heard: unknown[] = []
    await connection.subscribe(
      'stampede:3:news',
      text => heard.push(JSON.parse(text)),
      () => {},
    )
    const reply = await gate.reserve(ITEM, 1, [ask('a'), ask('🐎 "b"'), ask('greedy', { quantity: 11 }), ask('a')])
    expect(codes(reply)).toEqual(['reserved', 'reserved', 'not_enough', 'same'])
    await gate.reserve(ITEM, 1, [ask('a'), ask('greedy', { quantity: 9 })])
    await gate.reserve(ITEM, 1, [ask('last')])
    await until('two messages', () => heard.length >= 2)
    expect(heard).toEqual([
      { kind: 'reserved', item: ITEM, epoch: 1, version: 2, left: 8, buyers: ['a', '🐎 "b"'] },
      { kind: 'reserved', item: ITEM, epoch: 1, version: 3, left: 7, buyers: ['last'] },
    ])
  })

  describe("the server's clock", () => {
    const MINUTE_MS = 60_000

    /** An item that opens in an hour and closes two hours later, and the server's clock in the test's hand. */
    async function setUp() {
      const server = await startRedis(playground)
      const connection = await connect(playground, server.url)
      const off = { ms: 0 }
      const gate = new RedisGate(connection, () => off.ms)
      const { nowMs } = await gate.status([])
      const terms = await openTerms(gate, { opensAtMs: nowMs + HOUR_MS, closesAtMs: nowMs + 3 * HOUR_MS })
      await gate.activate(ITEM, 1, terms)
      const statusAt = async (ms: number) => {
        off.ms = ms
        return (await gate.reserve(ITEM, 1, [])).status
      }
      return { server, connection, off, gate, nowMs, terms, statusAt }
    }

    test('goes back a little, as after a failover: what is open does not become early, what is over does not open', async () => {
      const { connection, off, gate, nowMs, statusAt } = await setUp()
      const statuses: string[] = []
      // Each second time it is before the edge again, by the server alone.
      for (const ms of [0, HOUR_MS, HOUR_MS - 1_500, 3 * HOUR_MS, 3 * HOUR_MS - 1_500])
        statuses.push(await statusAt(ms))
      expect(statuses).toEqual(['early', 'ok', 'ok', 'over', 'over'])
      expect((await gate.status([ITEM])).nowMs).toBeGreaterThanOrEqual(nowMs + 3 * HOUR_MS)
      const other = new RedisGate(connection, () => off.ms)
      expect((await other.status([ITEM])).nowMs, 'another process').toBeGreaterThanOrEqual(nowMs + 3 * HOUR_MS)
      expect((await other.reserve(ITEM, 1, [])).status).toBe('over')
    })

    test('is outwaited by the next epoch too: it is a failover that makes one', async () => {
      const { gate, off, terms, statusAt } = await setUp()
      expect(await statusAt(3 * HOUR_MS)).toBe('over')
      off.ms -= 1_500
      await gate.activate(ITEM, 2, terms)
      expect((await gate.reserve(ITEM, 2, [])).status).toBe('over')
    })

    test('was wrong for a moment: set right, the window is judged by the right one, in every process', async () => {
      const { connection, off, gate, nowMs, statusAt } = await setUp()
      const statuses: string[] = []
      for (const hours of [0, 2, 0, 4, 2]) statuses.push(await statusAt(hours * HOUR_MS))
      expect(statuses).toEqual(['early', 'ok', 'early', 'over', 'ok'])
      expect((await gate.status([ITEM])).nowMs).toBeWithin(nowMs + 2 * HOUR_MS, nowMs + 2 * HOUR_MS + MINUTE_MS)
      const other = new RedisGate(connection, () => off.ms)
      expect(codes(await other.reserve(ITEM, 1, [ask('a')]))).toEqual(['reserved'])
    })

    test('was ten minutes ahead for a moment: what is reserved afterwards is not dated in the future', async () => {
      const { server, gate, nowMs, statusAt } = await setUp()
      expect(await statusAt(2 * HOUR_MS + 10 * MINUTE_MS)).toBe('ok')
      expect(await statusAt(2 * HOUR_MS)).toBe('ok')
      // What it was believed to be is forgotten at once, or it would count again when the right one comes near it.
      expect(Number(await server.command('HGET', `{${ITEM}}:gate`, 'clock'))).toBeLessThan(
        nowMs + 2 * HOUR_MS + MINUTE_MS,
      )
      const reply = await gate.reserve(ITEM, 1, [ask('a')])
      expect('answers' in reply && reply.answers[0]!.reservedAtMs).toBeLessThan(nowMs + 2 * HOUR_MS + MINUTE_MS)
    })
  })

  test('malformed arguments that reach a script are refused before its first write', async () => {
    const server = await startRedis(playground)
    const { gate, connection } = await openItem(playground, server.url)
    const dump = async () =>
      JSON.stringify([await server.command('HGETALL', `{${ITEM}}:gate`), await server.command('KEYS', '*')])
    const before = await dump()
    const tag = `{${ITEM}}`
    const keys = [`${tag}:gate`, `${tag}:1:buyers`, `${tag}:1:orders`, outboxOf(1), `${tag}:outboxes`]
    const good = ['5', 'good', '1', '1']
    const head = ['1', ITEM, '0', '100', 'c', '0']
    const bad = [
      ['', 'b', '1', '1'],
      ['1e3', 'b', '1', '1'],
      ['6', '', '1', '1'],
      ['6', 'b', '0', '1'],
      ['6', 'b', '1', '-1'],
      ['6', 'b', '1', '1.5'],
      ['6', 'b', '1', '9007199254740993'],
    ]
    for (const one of bad)
      await expect(
        connection.run(readScript('reserve', 'grows'), keys, [...head, '2', ...good, ...one]),
      ).rejects.toThrow('BUG')
    const calls: [string, string[], string[]][] = [
      ['reserve', keys, [...head, '2', ...good]],
      ['release', keys.slice(0, 3), ['1', '1', '5', 'b', '1', 'lost']],
      ['change', keys.slice(0, 1), ['1', '1', '1.5', '64']],
      ['set', keys.slice(0, 1), ['1', 'open', '5', '5']],
      ['fence', keys.slice(0, 1), ['0']],
      ['load', keys.slice(0, 3), ['2', '0', '1', '5', 'b', '1', '1', 'yes', '1']],
      ['activate', [...keys.slice(0, 3), `${tag}:outboxes`], ['2', '0', '-1', '0', '0', '1', '0', 'open', '1', '2']],
    ]
    for (const [name, itsKeys, args] of calls)
      await expect(connection.run(readScript(name, 'grows'), itsKeys, args)).rejects.toThrow('BUG')
    expect(await dump()).toBe(before)
    expect(codes(await gate.reserve(ITEM, 1, [ask('a')]))).toEqual(['reserved'])
  })

  test('an item, a buyer or a page that could be mistaken for another is refused before anything is sent', async () => {
    const server = await startRedis(playground)
    const { gate } = await openItem(playground, server.url)
    await expect(gate.reserve('47}{11', 1, [])).rejects.toThrow('not an item id')
    await expect(gate.reserve(ITEM, 1, [ask('a\ud800')])).rejects.toThrow('half a character')
    await expect(gate.load(ITEM, 2, new Array(5_001).fill(0))).rejects.toThrow('5001 holdings')
  })

  test('a page of 5,000 is one act, the books show every attempt once, and the keys of older epochs are gone', async () => {
    const server = await startRedis(playground)
    const { gate, terms } = await openItem(playground, server.url)
    expect(codes(await gate.reserve(ITEM, 1, [ask('waits')]))).toEqual(['reserved'])
    const page = Array.from({ length: 5_000 }, (_, i) => ({
      order: String(i + 1),
      buyer: `buyer${i % 4_500}`,
      attempt: i < 4_500 ? 1 : 2,
      quantity: 1,
      live: i >= 500,
      reservedAtMs: 7,
    }))
    await gate.load(ITEM, 2, [{ ...page[0]!, buyer: 'abandoned' }])
    expect(await gate.fence(ITEM, 3)).toEqual({ status: 'done' })
    await expect(gate.load(ITEM, 3, [...page.slice(1), { ...page[0]!, order: '2' }])).rejects.toThrow('BUG')
    expect(Number(await server.command('EXISTS', `{${ITEM}}:3:buyers`))).toBe(0)
    for (let i = 0; i < 2; i++) expect(await gate.load(ITEM, 3, page)).toEqual({ status: 'done' })
    expect(await gate.activate(ITEM, 3, { ...terms, held: 4_500, buyers: 4_500 })).toEqual({ status: 'done' })
    const shown = []
    for await (const part of gate.holdings(ITEM, 3)) shown.push(...part)
    expect(shown.toSorted((a, b) => Number(a.order) - Number(b.order))).toEqual(page)
    for await (const part of gate.holdings(ITEM, 1)) expect(part).toEqual([])
    const keys = (await server.command('KEYS', '*')) as string[]
    const left = ['gate', '3:buyers', '3:orders', '1:outbox', 'outboxes'].map(name => `{${ITEM}}:${name}`)
    expect(keys.toSorted()).toEqual(left.toSorted())
    expect(await server.command('HGETALL', `{${ITEM}}:outboxes`)).toEqual(['1', '1', '3', '0'])
  })

  test('nothing of a running sale expires by time', async () => {
    const server = await startRedis(playground)
    const { gate } = await openItem(playground, server.url)
    await gate.reserve(ITEM, 1, [ask('a')])
    const keys = (await server.command('KEYS', '*')) as string[]
    expect(keys.length).toBeGreaterThanOrEqual(5)
    for (const key of keys) expect([key, Number(await server.command('PTTL', key))]).toEqual([key, -1])
  })

  describe('durability "replica" (E11)', () => {
    /** Half the time is the replicas': one waits for them on the slowest machine, the other has given up soon. */
    const patient = { durability: 'replica', replicas: 1, timeoutMs: 20_000 } as const
    const hasty = { ...patient, timeoutMs: 600 }

    test('a replica that does not follow makes it unknown, also for a `same`; when it follows again the same ids settle it', async () => {
      const primary = await startRedis(playground)
      const replica = await startReplica(playground, primary)
      const { gate } = await openItem(playground, primary.url, patient)
      const connection = await connect(playground, primary.url, hasty)
      const impatient = new RedisGate(connection)
      /** One that was kept waiting for too long has lost its connection, and asks only when it has another. */
      const again = () => until('a connection', () => connection.connected())
      expect(codes(await gate.reserve(ITEM, 1, [ask('before')]))).toEqual(['reserved'])
      process.kill(replica.pid, 'SIGSTOP')
      const asks = [ask('a')]
      expect(await impatient.reserve(ITEM, 1, asks)).toEqual(unknown)
      await again()
      expect(await impatient.reserve(ITEM, 1, asks)).toEqual(unknown)
      await again()
      expect(await impatient.reserve(ITEM, 1, [ask('before')])).toEqual(unknown)
      // Found for a buyer's own eyes it is; told to nobody.
      expect(await gate.find(ITEM, 'a')).toMatchObject({ holdings: [{ order: asks[0]!.order }] })
      await again()
      expect(await impatient.find(ITEM, 'a', true)).toEqual(unknown)
      expect((await gate.status([ITEM])).items).toMatchObject([{ left: 8, held: 2 }])
      process.kill(replica.pid, 'SIGCONT')
      const settled = await gate.reserve(ITEM, 1, asks)
      expect('answers' in settled && settled.answers).toMatchObject([{ code: 'same', order: asks[0]!.order }])
      expect((await gate.status([ITEM])).items).toMatchObject([{ left: 8, held: 2 }])
      expect(await gate.find(ITEM, 'a', true)).toMatchObject({ holdings: [{ order: asks[0]!.order }] })
    })

    test('a `same` is a write that WAIT can cover; with other durabilities it is none', async () => {
      const primary = await startRedis(playground)
      await startReplica(playground, primary)
      const { gate } = await openItem(playground, primary.url, patient)
      const plain = new RedisGate(await connect(playground, primary.url))
      expect(codes(await gate.reserve(ITEM, 1, [ask('a')]))).toEqual(['reserved'])
      const changes = async () =>
        Number(/rdb_changes_since_last_save:(\d+)/.exec(String(await primary.command('INFO', 'persistence')))![1])
      const before = await changes()
      expect(codes(await plain.reserve(ITEM, 1, [ask('a')]))).toEqual(['same'])
      expect(await changes()).toBe(before)
      expect(codes(await gate.reserve(ITEM, 1, [ask('a')]))).toEqual(['same'])
      expect(await changes()).toBeGreaterThan(before)
    })
  })
})
