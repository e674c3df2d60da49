/**
 * One item over a Redis Cluster: reservations acknowledged per second, each on a replica before the answer (`WAIT 1`), with the item in nine
 * shards over three primaries, beside the same item in one shard of the same cluster. A queue for each shard, as in an edge, and the same
 * number of asks under way in all. All six servers share the server's core here, so this shows the cost of sharding; its gain shows only on
 * a machine with a core for each primary. CPU time is that of all six. (The names are those of earlier reports, so that runs compare.)
 */

import { type Batcher, createBatcher } from '../../src/base/batching/batcher.ts'
import { nextTurn, systemClock } from '../../src/base/clock.ts'
import { openRedis } from '../../src/base/redis/connection.ts'
import type { Ask } from '../../src/gate/gate.ts'
import { RedisGate } from '../../src/gate/redis/redis-gate.ts'
import { shardOf } from '../../src/gate/shard-ids.ts'
import { createShardCounts } from '../../src/gate/sharded/shard-counts.ts'
import { ShardedGate } from '../../src/gate/sharded/sharded-gate.ts'
import { Playground } from '../../test/harness/playground.ts'
import { RedisCluster } from '../../test/harness/redis-cluster.ts'
import { until } from '../../test/harness/until.ts'
import type { BenchCase, Contestant, PreparedCase, Stage } from '../bench-case.ts'
import { freshAsk, RESERVED, runAsks } from '../client/asks.ts'
import { placeServer } from '../cores.ts'
import { endable } from '../endable.ts'

/** A machine that is busy with others' work makes this slow, and does not end it. */
const CALL_MS_MAX = 30_000
const EPOCH = 1
const UNITS = 90_000_000
const HOUR_MS = 3_600_000
const OUTBOX_MAX = 1_000_000_000
const BATCH_MAX = 128
const SHARDS = 9

export const redisShards: BenchCase = {
  name: `redis cluster, ${SHARDS} places over 3 primaries`,
  what: 'reservations acknowledged by a gate that is spread over a Redis Cluster, beside one place of it',
  aims: {},
  needs: ['redis-server'],
  onlyWhenNamed: true,
  prepare,
}

async function prepare(stage: Stage): Promise<PreparedCase> {
  const playground = new Playground()
  const undo = endable(() => playground.undo())
  try {
    const cluster = await RedisCluster.start(playground)
    const pids = cluster.nodes.map(node => node.pid)
    for (const pid of pids) placeServer(pid)
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const connection = openRedis({
      url: cluster.url,
      clock: systemClock,
      log,
      durability: 'replica',
      replicas: 1,
      timeoutMs: CALL_MS_MAX,
    })
    playground.onUndo(() => connection.close())
    await until('a connection to the cluster', () => connection.connected())
    const counts = createShardCounts()
    const shardGate = new RedisGate(connection, undefined, OUTBOX_MAX)
    const gate = new ShardedGate(shardGate, counts, stage.clock)
    const violations = new Set<string>()
    let items = 0

    async function open(shards: number): Promise<string> {
      items += 1
      const item = String(items)
      counts.learn(item, { shards, epoch: EPOCH, gateShards: shards })
      const { nowMs } = await gate.status([item])
      const window = { state: 'open', opensAtMs: nowMs - HOUR_MS, closesAtMs: nowMs + HOUR_MS } as const
      const terms = { left: UNITS, held: 0, buyers: 0, attemptsMax: 1, changeNo: 0, stateNo: 0, ...window }
      const { status } = await gate.activate(item, EPOCH, terms)
      if (status !== 'done') throw new Error(`the gate could not be opened: ${status}`)
      return item
    }

    async function reserve(item: string, asks: readonly Ask[]): Promise<boolean[]> {
      const reply = await gate.reserve(item, EPOCH, asks)
      return 'answers' in reply ? reply.answers.map(({ code }) => code === 'reserved') : asks.map(() => false)
    }

    const contestant = (name: string, shards: number): Contestant => ({
      name,
      serverPid: pids[0]!,
      besidePids: pids.slice(1),
      async prepare(forMs) {
        const item = await open(shards)
        const underWay = 2 * BATCH_MAX
        const queues = Array.from(
          { length: shards },
          (): Batcher<Ask, boolean> =>
            createBatcher({
              batchMax: BATCH_MAX,
              queueMax: underWay,
              defer: nextTurn,
              run: asks => reserve(item, asks),
            }),
        )
        const ask = async () => {
          const fresh = freshAsk()
          return (await queues[shardOf(fresh.buyer, shards)]!.join(fresh)) === true
        }
        return async () => {
          const result = await runAsks({ underWay, forMs, clock: stage.clock, ask })
          const reserved = result.statuses.get(RESERVED) ?? 0
          const held = (await gate.status([item])).items[0]?.held
          if (result.answers !== reserved) violations.add(`${name}: ${result.answers - reserved} asks not reserved`)
          if (held !== reserved) violations.add(`${name}: ${reserved} were told "reserved", the gate holds ${held}`)
          return result
        }
      },
    })
    return {
      subject: contestant(`${SHARDS} places`, SHARDS),
      references: [contestant('one place', 1)],
      settings: { underWay: 2 * BATCH_MAX, servers: pids.length },
      check: async () => ({ violations: [...violations] }),
      close: undo,
    }
  } catch (error) {
    await undo()
    throw error
  }
}
