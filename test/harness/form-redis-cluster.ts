/**
 * Makes a Redis Cluster out of nodes that run, by plain commands: the first half become primaries, the others their replicas, in the same
 * order. Also for `npm run cluster`, whose nodes are looked after by somebody else; so all of it goes by ports on loopback. Formed once, the
 * nodes keep it in their own files: started again on other ports they only have to meet.
 */

import { SLOTS } from '../../src/base/redis/slots.ts'
import { commandAt } from './redis.ts'
import { until } from './until.ts'

const HOST = '127.0.0.1'
const FORMED_MS_MAX = 120_000

interface NodePorts {
  readonly port: number
  /** Where it talks with the other nodes. */
  readonly busPort: number
}

/** from, to, port of the primary, ports of its replicas. */
type SlotRange = readonly [number, number, number, ...number[]]

/** Lines of a redis.conf for each node: no primary writes without its replica, and what one of them suffers the others need not. */
export function clusterNodeConfig(busPort: number, nodeTimeoutMs: number): readonly string[] {
  return [
    'appendfsync everysec',
    'cluster-enabled yes',
    'cluster-config-file nodes.conf',
    `cluster-node-timeout ${nodeTimeoutMs}`,
    `cluster-port ${busPort}`,
    'min-replicas-to-write 1',
    'min-replicas-max-lag 10',
    'cluster-require-full-coverage no',
  ]
}

/** Nodes that know of nothing yet. Returns when all of them agree. */
export async function formRedisCluster(nodes: readonly NodePorts[]): Promise<void> {
  const primaries = nodes.length / 2
  for (const [i, { port }] of nodes.entries()) await commandAt(port, ['CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1)])
  await meet(nodes.slice(0, 1), nodes)
  for (const [i, { port }] of nodes.slice(0, primaries).entries()) {
    const [from, to] = [i, i + 1].map(n => Math.floor((SLOTS * n) / primaries)) as [number, number]
    await commandAt(port, ['CLUSTER', 'ADDSLOTSRANGE', String(from), String(to - 1)])
  }
  for (const [i, { port }] of nodes.slice(primaries).entries()) {
    const primary = String(await commandAt(nodes[i]!.port, ['CLUSTER', 'MYID']))
    await until(
      'a replica that is taken on',
      () =>
        commandAt(port, ['CLUSTER', 'REPLICATE', primary]).then(
          () => true,
          // It has not heard of it yet.
          () => false,
        ),
      FORMED_MS_MAX,
    )
  }
  await untilWhole(() => nodes.map(({ port }) => port))
}

/** Nodes that were formed before and may have other ports by now. Everybody meets everybody: each knows the others' old ones only. */
export async function meetAgain(nodes: readonly NodePorts[]): Promise<void> {
  await meet(nodes, nodes)
  await untilWhole(() => nodes.map(({ port }) => port))
}

/** Returns when every node that runs agrees who has which slot, and every primary has so many replicas. */
export async function untilWhole(running: () => readonly number[], replicas = 1): Promise<void> {
  await until('a cluster that is whole', () => isWhole(running(), replicas), FORMED_MS_MAX)
}

/** As this node sees it; nothing when it does not answer. */
export async function slotsAt(port: number): Promise<readonly SlotRange[]> {
  const ranges = (await commandAt(port, ['CLUSTER', 'SLOTS']).catch(() => [])) as readonly (readonly unknown[])[]
  return ranges.map(([from, to, ...members]) => {
    const [primary = 0, ...replicas] = members.map(member => Number((member as unknown[])[1]))
    return [Number(from), Number(to), primary, ...replicas]
  })
}

async function meet(some: readonly NodePorts[], others: readonly NodePorts[]): Promise<void> {
  for (const { port } of some)
    for (const other of others)
      if (other.port !== port)
        await commandAt(port, ['CLUSTER', 'MEET', HOST, String(other.port), String(other.busPort)])
}

async function isWhole(ports: readonly number[], replicas: number): Promise<boolean> {
  const told: string[] = []
  for (const port of ports) {
    const info = String(await commandAt(port, ['CLUSTER', 'INFO']).catch(() => ''))
    if (!info.includes('cluster_state:ok') || !info.includes(`cluster_slots_ok:${SLOTS}`)) return false
    const slots = await slotsAt(port)
    if (slots.some(([, , , ...others]) => others.length < replicas)) return false
    told.push(
      slots
        .map(([from, to, primary]) => `${from}-${to}=${primary}`)
        .toSorted()
        .join(),
    )
    const replication = String(await commandAt(port, ['INFO', 'replication']).catch(() => ''))
    const isPrimary = replication.includes('role:master')
    const online = replication.match(/^slave\d+:.*state=online/gm)?.length ?? 0
    if (isPrimary ? online < replicas : !replication.includes('master_link_status:up')) return false
  }
  return told.every(one => one === told[0])
}
