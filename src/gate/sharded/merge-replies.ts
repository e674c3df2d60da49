/** What several places answered to the parts of one batch, as one answer to the batch. */

import { assert } from '../../base/assert.ts'
import type { AskAnswer, ReserveReply } from '../gate.ts'

export type Decided = Extract<ReserveReply, { readonly answers: unknown }>

/** How much the window forbids. */
const STRICTNESS: Readonly<Record<Decided['status'], number>> = { ok: 0, paused: 1, early: 2, over: 3 }

/**
 * As soon as one place may have taken something that nobody can be told, nobody knows: `unknown`. Version and left are the strictest
 * place's own, and of no use when there are several.
 * @param shardOfAsk whose answer comes from which place
 */
export function mergeReplies(
  replies: readonly { readonly shard: number; readonly reply: ReserveReply }[],
  shardOfAsk: readonly number[],
): ReserveReply {
  const all = replies.map(one => one.reply)
  if (all.some(reply => reply.status === 'unknown')) return { status: 'unknown' }
  const decided = all.filter((reply): reply is Decided => 'answers' in reply)
  const stale = all.filter(reply => reply.status === 'stale')
  // Who asks for nothing has nothing taken: then a place that is stale speaks for all, because the epoch does not sell without it.
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
    assert(answer?.done === false, `place ${shard} gave too few answers`)
    return answer.value
  })
  return { ...strictest, answers }
}
