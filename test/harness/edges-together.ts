/** Edges whose limits hold over all of them together: until each has heard of the others, it holds what it takes for its part. */

import type { Cluster } from './cluster.ts'
import { until } from './until.ts'

/** Resolves when every edge has said at the Redis of the cluster that it is there, again: it hears of the others with the same word. */
export async function edgesTogether(cluster: Cluster, limitMs: number): Promise<void> {
  const [seconds] = (await cluster.redis.command('TIME')) as [string]
  const since = () => cluster.redis.command('ZCOUNT', 'rate:{0}:edges', `${Number(seconds) + 1}000`, '+inf')
  const edges = cluster.edges().length
  await until(`${edges} edges that say they are there`, async () => Number(await since()) === edges, limitMs)
}
