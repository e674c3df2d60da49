import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { freePort } from '../../../test/harness/free-port.ts'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { RedisCluster } from '../../../test/harness/redis-cluster.ts'
import { until } from '../../../test/harness/until.ts'
import { Fault } from '../fault.ts'
import { connect } from './connection.fixture.ts'
import type { RedisConnection } from './connection.ts'
import type { Script } from './script.ts'
import { slotOf } from './slots.ts'

const SOON_MS = 120_000
/** Beyond the five seconds after which Redis drops a failover that was ordered. */
const ORDER_MS_MAX = 8_000
const replica = { durability: 'replica', replicas: 1 } as const
/** Where nobody dies nothing is given up for being late: a machine that stands still for a moment fails no call. */
const patient = { ...replica, timeoutMs: 20_000 } as const

function script(name: string, body: string): Script {
  const text = `#!lua\n${body}`
  return { name, text, digest: createHash('sha1').update(text).digest('hex') }
}

const count = script(
  'count',
  "for _, key in ipairs(KEYS) do redis.call('INCR', key) end return redis.call('GET', KEYS[1])",
)
/** Counts here, then looks at a key whose name it builds, as ours do. */
const countThere = script('count there', "redis.call('INCR', KEYS[1]) return redis.call('GET', KEYS[1] .. ':more')")

const keys = Array.from({ length: 30 }, (_, i) => `{${i}}:count`)
/** A key of its own for each test, with its slot. */
const own = (name: string) => ({ key: `{${name}}`, slot: slotOf(name) })

async function refusal(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    value => `answered ${value}`,
    (error: unknown) => error,
  )
}

describe('a cluster that stands', () => {
  const house = new Playground()
  let cluster: RedisCluster
  let connection: RedisConnection
  beforeAll(async () => {
    cluster = await RedisCluster.start(house)
    // One node is enough to begin with.
    connection = await connect(house, `redis-cluster://127.0.0.1:${cluster.nodes[4]!.port}`, patient)
  }, 300_000)
  afterAll(() => house.undo())

  const moved = async (node: { info(field: string): Promise<string> }) =>
    Number(/count=(\d+)/.exec(await node.info('errorstat_MOVED').catch(() => 'count=0'))?.[1])

  test('every key is written where it lives, at once, with its replica; nobody is sent away', async () => {
    expect(connection.primaries()).toHaveLength(3)
    const before = await Promise.all(cluster.nodes.map(moved))
    for (const key of keys) expect(Number(await connection.runDurably(count, [key], []))).toBe(1)
    for (const key of keys) {
      const owner = await cluster.ownerOfKey(key)
      expect(String(await owner.command('GET', key))).toBe('1')
      expect(await connection.command(['GET', key], key)).toBe('1')
    }
    expect(await Promise.all(cluster.nodes.map(moved))).toEqual(before)
    const ports = new Set(await Promise.all(keys.map(async key => (await cluster.ownerOfKey(key)).port)))
    expect(ports.size).toBe(3)
  })

  test('keys that one call may name are grouped, and only these', async () => {
    const groups = connection.together(['{a}1', '{b}1', '{a}2'])
    expect(groups).toEqual([['{a}1', '{a}2'], ['{b}1']])
    for (const group of groups) expect(await connection.run(count, group, [])).toBe('1')
    expect(connection.together([])).toEqual([])
    await expect(connection.run(count, ['{a}1', '{b}1'], [])).rejects.toMatchObject({ name: 'Bug' })
  })

  test('MOVED: a slot that went elsewhere is found by the call itself, which is done once', async () => {
    const { key, slot } = own('moved')
    expect(await connection.runDurably(count, [key], [])).toBe('1')
    const to = await cluster.anotherThan(slot)
    const from = await cluster.ownerOf(slot)
    const before = await moved(from)
    await cluster.moveSlot(slot, to)
    const told = await refusal(connection.runDurably(count, [key], []))
    expect(told).toBe('answered 2')
    expect(String(await to.command('GET', key))).toBe('2')
    // Unless the map was asked for in this very moment.
    console.log(`  sent away ${(await moved(from)) - before} times`)
    await cluster.moveSlot(slot, from)
    expect(await connection.runDurably(count, [key], [])).toBe('3')
  })

  test('ASK and TRYAGAIN: while a slot is on its way nothing is done and nobody is followed; afterwards it goes on', async () => {
    const { key, slot } = own('on its way')
    const more = `${key}:more`
    await connection.runDurably(count, [key, more], [])
    const to = await cluster.anotherThan(slot)
    const from = await cluster.beginMove(slot, to)
    // Everything is still here: the slot works as before.
    expect(await connection.runDurably(count, [key, more], [])).toBe('2')
    const nothing = { code: 'redis_moving', outcomeUnknown: false, retryable: true }
    // A key that is nowhere beside one that is here: TRYAGAIN.
    expect(await refusal(connection.runDurably(count, [key, `${key}:new`], []))).toMatchObject(nothing)
    await from.command('MIGRATE', '127.0.0.1', String(to.port), more, '0', '5000')
    expect(await refusal(connection.runDurably(count, [key, more], []))).toMatchObject(nothing)
    // A key that a script builds the name of is gone: it has come to the middle, and nobody knows where that is.
    expect(await refusal(connection.run(countThere, [key], []))).toMatchObject({
      code: 'redis_moving',
      outcomeUnknown: true,
    })
    while ((await cluster.carry(slot, from, to)) > 0);
    expect(await refusal(connection.runDurably(count, [key, more], []))).toMatchObject(nothing)
    await cluster.endMove(slot, from, to)
    expect(String(await to.command('GET', more))).toBe('2')
    expect(await connection.runDurably(count, [more, key], [])).toBe('3')
    await cluster.moveSlot(slot, from)
  })

  test('CLUSTERDOWN: a slot that nobody has is like a server that is away, and works when somebody has it again', async () => {
    const { key, slot } = own('down')
    expect(await connection.runDurably(count, [key], [])).toBe('1')
    const owner = await cluster.ownerOf(slot)
    await owner.command('CLUSTER', 'DELSLOTS', String(slot))
    const told = await refusal(connection.runDurably(count, [key], []))
    expect(told).toMatchObject({ name: 'Fault', outcomeUnknown: false, retryable: true })
    expect(String(told)).toMatch(/CLUSTERDOWN|nobody is known/)
    await owner.command('CLUSTER', 'ADDSLOTS', String(slot))
    await until('the slot to be back', async () => (await refusal(connection.run(count, [key], []))) === 'answered 2')
  })

  test('what is said at one node, in a script too, is heard at every other', async () => {
    const heard: string[] = []
    await connection.subscribe(
      'news',
      text => heard.push(text),
      () => {},
    )
    const say = script('say', "redis.call('INCR', KEYS[1]) redis.call('PUBLISH', 'news', KEYS[1])")
    for (const key of keys.slice(0, 9)) await connection.run(say, [key], [])
    for (const node of cluster.nodes) await node.command('PUBLISH', 'news', String(node.port))
    const all = [...keys.slice(0, 9), ...cluster.nodes.map(({ port }) => String(port))]
    await until('all of it', () => heard.length === all.length, SOON_MS)
    expect(heard.toSorted()).toEqual(all.toSorted())
  })

  test('a node that tells of older times is not believed', async () => {
    const stranger = await startRedis(house, { config: ['cluster-enabled yes', `cluster-port ${await freePort()}`] })
    await stranger.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    const url = `${cluster.url},127.0.0.1:${stranger.port}`
    const own = await connect(house, url, patient)
    const asked = () =>
      stranger.command('INFO', 'commandstats').then(told => /cmdstat_cluster.slots/.test(String(told)))
    await until(
      'the stranger to be asked',
      async () => {
        if (await asked()) return true
        for (const node of cluster.nodes) await node.command('CLIENT', 'KILL', 'TYPE', 'normal')
        await until('connections again', () => own.connected(), SOON_MS)
        return false
      },
      SOON_MS,
    )
    expect(own.primaries().map(({ name }) => name)).not.toContain(`127.0.0.1:${stranger.port}`)
    // That it was connected may have been seen before it had heard of the last hang-up.
    await until('connections after the last hang-up', () => own.connected(), SOON_MS)
    for (const key of keys) expect(await refusal(own.runDurably(count, [key], []))).toMatch(/^answered/)
    await until('all connections again', () => connection.connected(), SOON_MS)
  })

  test('a server that must not be used is not, the others are', async () => {
    const [held] = connection.primaries()
    held!.hold('it is set wrong')
    const replies = await Promise.all(keys.map(key => refusal(connection.runDurably(count, [key], []))))
    held!.hold(undefined)
    const refused = replies.filter(reply => reply instanceof Fault)
    for (const fault of refused) expect(fault).toMatchObject({ code: 'redis_held', outcomeUnknown: false })
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.length).toBeLessThan(keys.length)
    for (const key of keys) expect(await refusal(connection.runDurably(count, [key], []))).toMatch(/^answered/)
  })
})

describe('a cluster that loses nodes', () => {
  const house = new Playground()
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await RedisCluster.start(house, { nodeTimeoutMs: 1_500 })
  }, 300_000)
  afterAll(() => house.undo())

  test('a primary that is killed: its keys come back with its replica, no acknowledged write is lost, and listeners are told of the gap', async () => {
    const connection = await connect(house, cluster.url, { ...replica, timeoutMs: 1_000 })
    let gaps = 0
    const heard: string[] = []
    await connection.subscribe(
      'news',
      text => heard.push(text),
      () => {
        gaps += 1
      },
    )
    const { key, slot } = own('failover')
    const owner = await cluster.ownerOf(slot)
    // It is the listener's node that will die.
    await until('listening at that node', async () => {
      if ((await listenersAt(owner)) > 0) return true
      for (const node of cluster.nodes) await node.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
      await until('listening again', async () => (await Promise.all(cluster.nodes.map(listenersAt))).some(n => n > 0))
      return false
    })
    gaps = 0
    let done = 0
    let unknown = 0
    const more = async (how: 'run' | 'runDurably') => {
      try {
        await connection[how](count, [key], [])
        done += 1
        return true
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        if (error.outcomeUnknown) unknown += 1
        return false
      }
    }
    await until('50 to be acknowledged', async () => (await more('runDurably')) && done >= 50, SOON_MS)
    await owner.kill()
    const other = keys.find(one => slotOf(one) !== slot)!
    await until('the others to go on', async () =>
      /^answered/.test(String(await refusal(connection.run(count, [other], [])))),
    )
    const heir = await cluster.failedOver(slot, owner)
    await until(
      'the heir to take writes',
      async () => {
        // It has no replica of its own yet; without one it promises nothing.
        await heir.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
        return more('run')
      },
      SOON_MS,
    )
    const value = Number(await heir.command('GET', key))
    expect(value).toBeGreaterThanOrEqual(done)
    expect(value).toBeLessThanOrEqual(done + unknown)
    await until(
      'the dead one to be forgotten',
      () => connection.connected() && connection.primaries().length === 3,
      SOON_MS,
    )

    // Whoever listened there listens elsewhere, and knows that it may have missed something.
    await until('a gap to be told', () => gaps > 0, SOON_MS)
    await until(
      'a message to be heard',
      async () => {
        await heir.command('PUBLISH', 'news', 'x')
        return heard.length > 0
      },
      SOON_MS,
    )

    await owner.start()
    await cluster.whole()
    await heir.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
    await until(
      'durable again',
      async () => /^answered/.test(String(await refusal(connection.runDurably(count, [key], [])))),
      SOON_MS,
    )
  }, 300_000)

  test('a replica that takes over by order: the old primary sends us on, and nothing is done twice', async () => {
    const connection = await connect(house, cluster.url, patient)
    const { key, slot } = own('by order')
    const owner = await cluster.ownerOf(slot)
    let done = 0
    let unknown = 0
    const more = async () => {
      const reply = await refusal(connection.runDurably(count, [key], []))
      if (String(reply).startsWith('answered')) done += 1
      else expect(reply).toMatchObject({ name: 'Fault' })
      if (reply instanceof Fault && reply.outcomeUnknown) unknown += 1
      return reply
    }
    await more()
    const heir = await cluster.replicaOf(slot)
    // An order that takes the nodes too long is dropped without a word: then it is given again.
    await until(
      'the order to be followed',
      async () => {
        await heir.command('CLUSTER', 'FAILOVER').catch(() => {})
        const followed = async () => (await cluster.ownerOf(slot).catch(() => owner)) !== owner
        return until('another owner', followed, ORDER_MS_MAX).catch(() => false)
      },
      SOON_MS,
    )
    await cluster.whole()
    await until('it to go on', async () => String(await more()).startsWith('answered'), SOON_MS)
    const value = Number(await heir.command('GET', key))
    expect(value).toBeGreaterThanOrEqual(done)
    expect(value).toBeLessThanOrEqual(done + unknown)
  }, 300_000)

  async function listenersAt(node: { command(...args: string[]): Promise<unknown> }): Promise<number> {
    const [, listeners] = (await node.command('PUBSUB', 'NUMSUB', 'news')) as unknown[]
    return Number(listeners)
  }
})
