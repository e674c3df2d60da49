/** What the shards of an item show or answer, as one status or one reply of the item. */

import { assert } from '../../base/assert.ts'
import type { ItemId } from '../../domain/ids.ts'
import { shardsFor } from '../../domain/shards.ts'
import type { AskAnswer, GateStatus, ReserveReply, ShardStatus } from '../gate.ts'

/** How much a state, or the status of a batch, forbids. */
const STRICTNESS = { open: 0, ok: 0, paused: 1, early: 2, over: 3 } as const

/** What a change that was interrupted before it reached all shards leaves different. */
const EVEN = ['state', 'stateNo', 'opensAtMs', 'closesAtMs', 'changeNo'] as const

/** @param statuses of every shard of one epoch, each as one of several */
export function sumStatuses(item: ItemId, statuses: readonly GateStatus[]): GateStatus {
  const [first] = statuses
  assert(first !== undefined, `item ${item} without a shard`)
  let { epoch, state, stateNo, opensAtMs, closesAtMs, changeNo } = first
  for (const one of statuses) {
    assert(one.epoch === epoch, `item ${item}: a shard under epoch ${epoch}, another under ${one.epoch}`)
    if (STRICTNESS[one.state] > STRICTNESS[state]) state = one.state
    opensAtMs = Math.max(opensAtMs, one.opensAtMs)
    closesAtMs = Math.min(closesAtMs, one.closesAtMs)
    stateNo = Math.min(stateNo, one.stateNo)
    changeNo = Math.min(changeNo, one.changeNo)
  }
  const sums = sumFigures(statuses)
  const shards = statuses.flatMap(one => one.shards ?? [])
  const moving = movingIn(shards)
  const scattered = shardsFor(sums.left + moving, statuses.length) < statuses.length
  const uneven = statuses.some(one => EVEN.some(field => one[field] !== first[field]))
  return { item, epoch, ...sums, stateNo, state, opensAtMs, closesAtMs, changeNo, shards, uneven, moving, scattered }
}

export function sumFigures(all: readonly Pick<ShardStatus, 'version' | 'left' | 'held' | 'buyers'>[]) {
  let [version, left, held, buyers] = [0, 0, 0, 0]
  for (const one of all) {
    version += one.version
    left += one.left
    held += one.held
    buyers += one.buyers
  }
  return { version, left, held, buyers }
}

/**
 * Units between two shards. One move is under way at a time, so it is the one with the highest number, and it is open as long as only the
 * shard that gave shows it. Statuses read a moment apart may show both halves: then nothing is moving any more.
 */
export function movingIn(shards: readonly Pick<ShardStatus, 'moveNo' | 'moved'>[]): number {
  let last: Pick<ShardStatus, 'moveNo' | 'moved'> | undefined
  let halves = 0
  for (const shard of shards) {
    if (last !== undefined && shard.moveNo < last.moveNo) continue
    halves = last?.moveNo === shard.moveNo ? halves + 1 : 1
    last = shard
  }
  return last !== undefined && last.moveNo > 0 && halves === 1 && last.moved < 0 ? -last.moved : 0
}

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
