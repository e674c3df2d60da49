/** The map of a Redis Cluster is read from one node at a time. A node that cannot answer, or that the others have left, must not stop the reading. */

import { afterEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { freePort } from '../../../test/harness/free-port.ts'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { RedisCluster } from '../../../test/harness/redis-cluster.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../clock.ts'
import { connect, hearingLog } from './connection.fixture.ts'
import { openRedis } from './connection.ts'
import { slotOf } from './slots.ts'

const SOON_MS = 120_000
const replica = { durability: 'replica', replicas: 1 } as const
const text = "#!lua\nreturn redis.call('INCR', KEYS[1])"
const count = { name: 'count', text, digest: createHash('sha1').update(text).digest('hex') }

const playground = new Playground()
afterEach(() => playground.undo())

test('a node that is still reading its files is not waited for: the others know as much', async () => {
  const cluster = await RedisCluster.start(playground)
  const slow = await startRedis(playground, {
    config: [
      'cluster-enabled yes',
      `cluster-port ${await freePort()}`,
      'appendonly no',
      // Half a minute for what is written below.
      'key-load-delay 30000',
      'loading-process-events-interval-bytes 1024',
    ],
  })
  await slow.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await until('it takes writes', async () => String(await slow.command('CLUSTER', 'INFO')).includes('cluster_state:ok'))
  const fill = "for i = 1, 1000 do redis.call('HSET', KEYS[1] .. i, 'x', string.rep('x', 100)) end"
  await slow.command('EVAL', fill, '1', '{x}')
  await slow.command('SAVE')
  await slow.kill()
  const started = slow.startOnce().catch(() => {})
  playground.onUndo(() => started)
  await until('it reads its files', async () => {
    const told = await slow.command('CLUSTER', 'INFO').catch((error: unknown) => error)
    return String(told).includes('LOADING')
  })
  // Asked first: the second of two.
  const connection = openRedis({
    url: `redis-cluster://127.0.0.1:${cluster.nodes[0]!.port},127.0.0.1:${slow.port}`,
    clock: systemClock,
    log: hearingLog(),
    ...replica,
  })
  playground.onUndo(() => connection.close())
  await until('the cluster to be known', () => connection.connected())
  expect(String(await slow.command('CLUSTER', 'INFO').catch((error: unknown) => error))).toContain('LOADING')
  await slow.kill()
}, 300_000)

test('a node that the others have forgotten is not believed, although it answers', async () => {
  // Every node calls the cluster down that does not see all of it.
  const cluster = await RedisCluster.start(playground, { config: ['cluster-require-full-coverage yes'] })
  const key = '{forgotten}'
  const slot = slotOf('forgotten')
  const owner = await cluster.ownerOf(slot)
  const heir = await cluster.replicaOf(slot)
  // One address: it is this node that is asked, for as long as it answers.
  const connection = await connect(playground, `redis-cluster://127.0.0.1:${owner.port}`, replica)
  expect(Number(await connection.runDurably(count, [key], []))).toBe(1)
  // No other node talks to it any more, and a replica has taken over. Its own port answers as before.
  for (const node of cluster.nodes) {
    if (node === owner) continue
    await owner.command('CLUSTER', 'FORGET', String(await node.command('CLUSTER', 'MYID')))
  }
  await heir.command('CLUSTER', 'FAILOVER', 'TAKEOVER')
  await until('the heir to have it', async () => (await cluster.ownerSeenBy(slot, owner)) === heir, SOON_MS)
  await heir.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
  const begunMs = systemClock.elapsed()
  await until(
    'its keys at the replica that took over, and all others where they are',
    async () => {
      for (const one of [key, '{a}', '{b}', '{c}', '{d}', '{e}'])
        if (!(Number(await connection.run(count, [one], []).catch(() => 0)) > 0)) return false
      return true
    },
    SOON_MS,
  )
  console.log(`  found after ${Math.round(systemClock.elapsed() - begunMs)} ms`)
}, 300_000)
