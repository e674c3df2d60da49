/**
 * A real Redis Cluster for tests: three primaries with a replica each, on loopback, formed by plain commands. Every primary stops writing
 * without its replica. A node can be killed, stopped and started again by itself; a slot can be moved while it is in use; a replica
 * can be told to take over. Nothing of it is left when the playground is undone.
 */

import { slotOf } from '../../src/base/redis/slots.ts'
import { clusterNodeConfig, formRedisCluster, slotsAt, untilWhole } from './form-redis-cluster.ts'
import { freePort } from './free-port.ts'
import type { Playground } from './playground.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { until } from './until.ts'

const HOST = '127.0.0.1'
const PRIMARIES = 3
const FORMED_MS_MAX = 120_000
const STARTS_MAX = 5
/** How long MIGRATE may take, and how many keys go at once: few, so that a slot is between two nodes for a while. */
const MIGRATE_MS_MAX = 5_000

interface RedisClusterOptions {
  /** Short makes failovers quick; long keeps a busy machine from causing any. */
  readonly nodeTimeoutMs?: number
  readonly config?: readonly string[]
}

export class RedisCluster {
  /** The first three began as primaries, the others as their replicas, in the same order. */
  readonly nodes: readonly RedisServer[]
  /** For a process that is to use it. */
  readonly url: string

  private constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes
    this.url = `redis-cluster://${nodes.map(({ port }) => `${HOST}:${port}`).join(',')}`
  }

  static async start(playground: Playground, options: RedisClusterOptions = {}): Promise<RedisCluster> {
    const { nodeTimeoutMs = 15_000, config = [] } = options
    const started = await Promise.all(
      Array.from({ length: 2 * PRIMARIES }, () => startNode(playground, nodeTimeoutMs, config)),
    )
    await formRedisCluster(started.map(({ node, busPort }) => ({ port: node.port, busPort })))
    return new RedisCluster(started.map(({ node }) => node))
  }

  /** Returns when every node that runs agrees who has which slot, and every primary has its replica. */
  whole(replicas = 1): Promise<void> {
    return untilWhole(() => this.nodes.filter(node => node.running()).map(({ port }) => port), replicas)
  }

  /** The node that has this slot now, as most of those see it that run. */
  ownerOf(slot: number): Promise<RedisServer> {
    return this.ownerSeenBy(slot)
  }

  /** The same, without asking one that would not answer. */
  async ownerSeenBy(slot: number, without?: RedisServer): Promise<RedisServer> {
    const seen = new Map<number, number>()
    for (const node of this.nodes) {
      if (node === without) continue
      for (const [from, to, primary] of await slotsOf(node))
        if (slot >= from && slot <= to) seen.set(primary, (seen.get(primary) ?? 0) + 1)
    }
    const [port] = [...seen].toSorted((a, b) => b[1] - a[1])[0] ?? []
    const found = this.nodes.find(node => node.port === port)
    if (found === undefined) throw new Error(`nobody has slot ${slot}`)
    return found
  }

  /** Who would take the slot over. */
  async replicaOf(slot: number): Promise<RedisServer> {
    const ranges = await slotsOf(await this.ownerOf(slot))
    const [, , , port] = ranges.find(([from, to]) => slot >= from && slot <= to) ?? []
    const found = this.nodes.find(node => node.port === port)
    if (found === undefined) throw new Error(`the primary of slot ${slot} has no replica`)
    return found
  }

  ownerOfKey(key: string): Promise<RedisServer> {
    return this.ownerOf(slotOf(key))
  }

  /** A primary that does not have this slot. */
  async anotherThan(slot: number): Promise<RedisServer> {
    const owner = await this.ownerOf(slot)
    for (const [, , port] of await slotsOf(owner)) {
      const found = this.nodes.find(node => node.port === port)
      if (found !== undefined && found !== owner) return found
    }
    throw new Error('there is no other primary')
  }

  /** From here on the slot is between the two: keys that are not with its owner any more are asked for elsewhere. */
  async beginMove(slot: number, to: RedisServer): Promise<RedisServer> {
    const from = await this.ownerOf(slot)
    await to.command('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', String(await from.command('CLUSTER', 'MYID')))
    await from.command('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', String(await to.command('CLUSTER', 'MYID')))
    return from
  }

  /** Carries at most so many keys over; returns how many are left. */
  async carry(slot: number, from: RedisServer, to: RedisServer, keysMax = 100): Promise<number> {
    const keys = (await from.command('CLUSTER', 'GETKEYSINSLOT', String(slot), String(keysMax))) as string[]
    if (keys.length > 0)
      await from.command('MIGRATE', HOST, String(to.port), '', '0', String(MIGRATE_MS_MAX), 'REPLACE', 'KEYS', ...keys)
    return Number(await from.command('CLUSTER', 'COUNTKEYSINSLOT', String(slot)))
  }

  async endMove(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
    const id = String(await to.command('CLUSTER', 'MYID'))
    await to.command('CLUSTER', 'SETSLOT', String(slot), 'NODE', id)
    await from.command('CLUSTER', 'SETSLOT', String(slot), 'NODE', id)
    await until('everybody to know of the move', async () => (await this.ownerOf(slot)) === to, FORMED_MS_MAX)
  }

  /** As `redis-cli --cluster reshard` does it, one slot. */
  async moveSlot(slot: number, to: RedisServer): Promise<void> {
    const from = await this.beginMove(slot, to)
    while ((await this.carry(slot, from, to)) > 0);
    await this.endMove(slot, from, to)
  }

  /** Returns when another node has the slot than this one. */
  async failedOver(slot: number, from: RedisServer): Promise<RedisServer> {
    const other = async () => {
      const owner = await this.ownerOf(slot).catch(() => from)
      return owner === from ? undefined : owner
    }
    return until('a failover', other, FORMED_MS_MAX)
  }
}

/** Nothing: it does not run. */
async function slotsOf(node: RedisServer) {
  return node.running() ? slotsAt(node.port) : []
}

async function startNode(playground: Playground, nodeTimeoutMs: number, config: readonly string[]) {
  for (let tried = 1; ; tried++) {
    const busPort = await freePort()
    try {
      const node = await startRedis(playground, {
        config: [...clusterNodeConfig(busPort, nodeTimeoutMs), ...config],
      })
      return { node, busPort }
    } catch (error) {
      // Another may have taken the port for the bus meanwhile.
      if (tried === STARTS_MAX) throw error
    }
  }
}
