/** The replies of several shards to the parts of one batch, as one reply to the batch. */

import { assert } from '../../base/assert.ts'
import type { AskAnswer, ReserveReply } from '../gate.ts'
import { STRICTNESS } from './sum-statuses.ts'

export type Decided = Extract<ReserveReply, { readonly answers: unknown }>

/**
 * `unknown` as soon as one shard may have taken units that no answer can name. Version and left are the strictest shard's own, and mean
 * nothing for several.
 * @param shardOfAsk the shard that answers each ask; empty for an empty batch
 */
export function mergeReplies(
  replies: readonly { readonly shard: number; readonly reply: ReserveReply }[],
  shardOfAsk: readonly number[],
): ReserveReply {
  const all = replies.map(one => one.reply)
  if (all.some(reply => reply.status === 'unknown')) return { status: 'unknown' }
  const decided = all.filter((reply): reply is Decided => 'answers' in reply)
  const stale = all.filter(reply => reply.status === 'stale')
  // An empty batch takes nothing: then one stale shard makes it stale, because the epoch does not sell without it.
  const taken = shardOfAsk.length > 0 && decided.length > 0
  if (taken && decided.length < all.length) return { status: 'unknown' }
  if (decided.length < all.length)
    return stale.length > 0 && stale.length + decided.length === all.length
      ? { status: 'stale', epoch: Math.max(...stale.map(reply => reply.epoch)) }
      : { status: 'busy' }

  const strictest = decided.reduce((one, other) => (STRICTNESS[other.status] > STRICTNESS[one.status] ? other : one))
  if (decided.length === 1) return strictest
  const next = new Map(
    replies.map(({ shard, reply }) => [shard, 'answers' in reply ? reply.answers.values() : undefined]),
  )
  const answers = shardOfAsk.map((shard): AskAnswer => {
    const answer = next.get(shard)?.next()
    assert(answer?.done === false, `shard ${shard} gave too few answers`)
    return answer.value
  })
  return { ...strictest, answers }
}
