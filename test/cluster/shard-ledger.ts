/** What no call shows of an item in several shards: how many it has, and the journal of moves between them. */

import { shardOf } from '../../src/gate/shard-ids.ts'
import type { Cluster } from '../harness/cluster.ts'

/** So many buyers who all belong to the same shard. */
export function buyersOf(shard: number, shards: number, count: number): readonly string[] {
  const names: string[] = []
  for (let i = 0; names.length < count; i++) if (shardOf(`buyer-${i}`, shards) === shard) names.push(`buyer-${i}`)
  return names
}

/** Of a cluster with one item. */
export function shardLedger(cluster: Cluster) {
  return {
    shards: async () => (await cluster.sql('SELECT gate_shards FROM items'))[0]?.gate_shards,
    moves: () => cluster.sql('SELECT no, state, from_shard, to_shard, wanted, taken FROM shard_moves ORDER BY no'),
    open: async () => (await cluster.sql("SELECT no FROM shard_moves WHERE state IN ('asked', 'taken')")).length,
  }
}
