/**
 * The queue before a gate that decides an item's asks in several lanes: one bounded queue for each, so that a batch is of one lane and lanes
 * do not wait for each other. Together they are as long as one queue would be.
 */

import type { Batcher } from '../../base/batcher.ts'
import type { BuyerId } from '../../domain/ids.ts'
import type { Lanes } from '../../gate/gate.ts'

export function createQueues<Ask extends { readonly buyer: BuyerId }, Answer>(
  lanes: Lanes | undefined,
  queueMax: number,
  make: (queueMax: number) => Batcher<Ask, Answer>,
): Batcher<Ask, Answer> {
  if (lanes === undefined || lanes.count === 1) return make(queueMax)
  const queues = Array.from({ length: lanes.count }, () => make(Math.ceil(queueMax / lanes.count)))
  return {
    join: ask => queues[lanes.laneOf(ask.buyer)]!.join(ask),
    depth: () => queues.reduce((sum, queue) => sum + queue.depth(), 0),
    peak() {
      const peaks = queues.map(queue => queue.peak())
      return {
        depth: peaks.reduce((sum, one) => sum + one.depth, 0),
        batch: peaks.reduce((most, one) => Math.max(most, one.batch), 0),
      }
    },
    async drained() {
      await Promise.all(queues.map(queue => queue.drained()))
    },
  }
}
