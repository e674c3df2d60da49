/**
 * The cluster's Redis as a Redis Cluster: three primaries with one replica each, formed once; at later starts the nodes find each other by
 * their own files, with new ports. A node that dies is restarted only after the others had time to replace it, so that a failover happens.
 * All on one machine; for several machines see docs/clustering.md.
 */

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'
import { clusterNodeConfig, formRedisCluster, meetAgain, slotsAt } from '../test/harness/form-redis-cluster.ts'
import { freePort } from '../test/harness/free-port.ts'
import { redisPart } from './parts.ts'
import type { PartPlan, Supervisor } from './supervisor.ts'

const NODES = 6
const NODE_TIMEOUT_MS = 2_000
const START_AGAIN_AFTER_MS = 5_000
const POLL_MS = 250
/** A replica that comes back is synchronised at once. */
const CONFIG = ['repl-diskless-sync-delay 0', 'repl-ping-replica-period 1']

/** Port of a node → ranges of the slots it serves. */
type Served = Map<number, (readonly [number, number])[]>

/** Resolves when the cluster is complete, with the settings for the processes that use it. */
export async function startRedisCluster(supervisor: Supervisor, dir: string, stop: AbortSignal) {
  const formed = join(dir, 'formed')
  // A cluster whose forming was interrupted is formed anew.
  if (!existsSync(formed)) rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })
  const nodes: { readonly port: number; readonly busPort: number }[] = []
  const served: Served = new Map()
  for (let i = 1; i <= NODES; i++) {
    const [port, busPort] = [await freePort(), await freePort()]
    const config = [...CONFIG, ...clusterNodeConfig(busPort, NODE_TIMEOUT_MS)]
    const plan: PartPlan = {
      ...redisPart(`redis-${i}`, join(dir, `node-${i}`), port, config),
      startAgainAfterMs: START_AGAIN_AFTER_MS,
      slots: () => served.get(port) ?? [],
    }
    await supervisor.start(plan)
    nodes.push({ port, busPort })
  }
  if (existsSync(formed)) await meetAgain(nodes)
  else await formRedisCluster(nodes)
  writeFileSync(formed, '')
  const ports = nodes.map(({ port }) => port)
  void watchSlots(ports, served, stop)
  return {
    REDIS_URL: `redis-cluster://${ports.map(port => `127.0.0.1:${port}`).join(',')}`,
    REDIS_DURABILITY: 'replica',
    REDIS_REPLICAS: '1',
  }
}

/** Polls which slots each node serves: a failover changes it. */
async function watchSlots(ports: readonly number[], served: Served, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    for (const port of ports) {
      const own = (await slotsAt(port)).filter(([, , primary]) => primary === port)
      served.set(
        port,
        own.map(([from, to]) => [from, to]),
      )
    }
    await systemClock.sleep(POLL_MS, stop)
  }
}
