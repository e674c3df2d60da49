/**
 * The line before a gate that has an item in several places: one bounded line for each, so that a batch meets one place and places do not
 * wait for each other. Together they are as long as one line would be. Each buyer always stands in the same one.
 */

import type { Batcher } from '../../base/batcher.ts'
import type { BuyerId } from '../../domain/ids.ts'
import { shardOf } from '../../gate/shard-ids.ts'

export function createQueues<Ask extends { readonly buyer: BuyerId }, Answer>(
  places: number,
  queueMax: number,
  make: (queueMax: number) => Batcher<Ask, Answer>,
): Batcher<Ask, Answer> {
  if (places === 1) return make(queueMax)
  const lines = Array.from({ length: places }, () => make(Math.ceil(queueMax / places)))
  return {
    join: ask => lines[shardOf(ask.buyer, places)]!.join(ask),
    depth: () => lines.reduce((sum, line) => sum + line.depth(), 0),
    peak() {
      const peaks = lines.map(line => line.peak())
      return {
        depth: peaks.reduce((sum, one) => sum + one.depth, 0),
        batch: peaks.reduce((most, one) => Math.max(most, one.batch), 0),
      }
    },
    async drained() {
      await Promise.all(lines.map(line => line.drained()))
    },
  }
}
