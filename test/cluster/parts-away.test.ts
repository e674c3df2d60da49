import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { CuttingProxy } from '../harness/cutting-proxy.ts'
import { Playground } from '../harness/playground.ts'
import { Stampede } from '../harness/stampede.ts'
import { until, within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const UNITS = 250
const BUYERS = 280
const SOON_MS = 120_000
const AWAY_MS = 20_000

const playground = new Playground()
afterEach(() => playground.undo())

test('PostgreSQL is away for 20 s: nobody is told anything that is not kept, and placing resumes', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1, roads: true })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
  const buying = meanwhile(stage.everybodyBuys())
  await within('a quarter of it sold', SOON_MS, stage.shop.placed(UNITS / 4))
  for (const member of cluster.members) member.postgresRoad?.cut()
  await systemClock.sleep(AWAY_MS)
  for (const member of cluster.members) member.postgresRoad?.mend()
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
}, 300_000)

test('PostgreSQL is killed outright in mid-sale, twice', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1 })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
  const buying = meanwhile(stage.everybodyBuys())
  await within('a quarter of it sold', SOON_MS, stage.shop.placed(UNITS / 4))
  await cluster.killPostgres()
  await within('half of it sold', SOON_MS, stage.shop.placed(UNITS / 2))
  await cluster.killPostgres()
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
}, 300_000)

test('the worker’s connections are cut between COMMIT and its answer, and before COMMIT, in turn: nothing is placed twice', async () => {
  const cuts = ['reply', 'query', 'reply', 'query', 'reply', 'reply'] as const
  let proxy: CuttingProxy | undefined
  const cluster = await Cluster.start(playground, {
    edges: 2,
    workers: 1,
    keepers: 1,
    postgresVia: {
      async worker(socket) {
        proxy = await CuttingProxy.start(socket)
        playground.onUndo(() => proxy?.stop())
        return proxy.port()
      },
    },
  })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS, atATime: 4 })
  const buying = meanwhile(stage.everybodyBuys())
  await within('a quarter of it sold', SOON_MS, stage.shop.placed(UNITS / 4))
  proxy?.cut('place', 1, [...cuts])
  await until('all the cuts', () => proxy?.made === cuts.length, SOON_MS)
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
}, 300_000)

test('FLUSHALL in mid-sale: the empty gate sells nothing until it is rebuilt, and nothing is lost', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1 })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
  const buying = meanwhile(stage.everybodyBuys())
  await within('a quarter of it sold', SOON_MS, stage.shop.placed(UNITS / 4))
  await cluster.redis.command('FLUSHALL')
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
}, 300_000)

test('Redis is full: buyers hear "busy" and nothing is half done; with room again the sale goes on', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1 })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
  const buying = meanwhile(stage.everybodyBuys())
  await within('a quarter of it sold', SOON_MS, stage.shop.placed(UNITS / 4))
  await cluster.redis.command('CONFIG', 'SET', 'maxmemory', '1')
  const busy = () => stage.shop.told.filter(told => told.answer.kind === 'busy').length
  const before = busy()
  await until('buyers who hear that it is busy', () => busy() > before + 20, SOON_MS)
  await cluster.redis.command('CONFIG', 'SET', 'maxmemory', '0')
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
}, 300_000)

test('a Redis that may evict, or that does not write to disk, is refused at the start with one line that says what to do', async () => {
  const cluster = await Cluster.start(playground, { edges: 1, workers: 1, keepers: 1 })
  const wrong: readonly (readonly [string, string, RegExp])[] = [
    ['maxmemory-policy', 'allkeys-lru', /maxmemory-policy/],
    ['appendfsync', 'everysec', /appendfsync/],
  ]
  for (const [name, value, words] of wrong) {
    const right = String(((await cluster.redis.command('CONFIG', 'GET', name)) as string[])[1])
    await cluster.redis.command('CONFIG', 'SET', name, value)
    const server = Stampede.spawn(playground, { dataDir: playground.dataDir(), env: cluster.envOf('edge') })
    expect(await within('its end', SOON_MS, server.exited)).toEqual({ code: 2, signal: null })
    const lines = server.output().trim().split('\n')
    expect(lines.at(-1)).toMatch(words)
    await cluster.redis.command('CONFIG', 'SET', name, right)
  }
}, 300_000)
