/** What no call shows of an item in several places: in how many it is, and the journal of moves between them. */

import pg from 'pg'
import { shardOf } from '../../src/gate/shard-ids.ts'
import type { Cluster } from '../harness/cluster.ts'
import type { Playground } from '../harness/playground.ts'

/** So many buyers who all meet the same place. */
export function buyersOf(shard: number, shards: number, count: number): readonly string[] {
  const names: string[] = []
  for (let i = 0; names.length < count; i++) if (shardOf(`buyer-${i}`, shards) === shard) names.push(`buyer-${i}`)
  return names
}

/** Of a cluster with one item. */
export async function placesLedger(playground: Playground, cluster: Cluster) {
  const client = new pg.Client({ connectionString: cluster.envOf('keeper').DATABASE_URL! })
  client.on('error', () => {})
  await client.connect()
  playground.onUndo(() => client.end())
  const rows = async (text: string) => (await client.query(text)).rows as readonly Record<string, unknown>[]
  return {
    places: async () => (await rows('SELECT gate_shards FROM items'))[0]?.gate_shards,
    moves: () => rows('SELECT no, state, from_shard, to_shard, wanted, taken FROM shard_moves ORDER BY no'),
    open: async () => (await rows("SELECT no FROM shard_moves WHERE state IN ('asked', 'taken')")).length,
  }
}
