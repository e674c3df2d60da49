import { describe, expect, test } from 'bun:test'
import type { AskCode, ReserveReply } from '../gate.ts'
import { mergeReplies } from './several-as-one.ts'

const stale = (epoch: number): ReserveReply => ({ status: 'stale', epoch })
const busy: ReserveReply = { status: 'busy' }
const unknown: ReserveReply = { status: 'unknown' }
function decided(status: 'ok' | 'early' | 'over' | 'paused', ...codes: AskCode[]): ReserveReply {
  const answers = codes.map((code, i) => ({ code, order: `${status}${i}`, quantity: 1, reservedAtMs: 0 }))
  return { status, epoch: 1, version: 1, left: 0, answers }
}
const merged = (...replies: readonly ReserveReply[]) =>
  mergeReplies(
    replies.map((reply, shard) => ({ shard, reply })),
    replies.flatMap((reply, shard) => ('answers' in reply ? reply.answers.map(() => shard) : [shard])),
  )

describe('several answers as one', () => {
  test('nobody is told a no while something may have been taken', () => {
    expect(merged(unknown, decided('ok', 'reserved'))).toEqual(unknown)
    expect(merged(unknown, busy)).toEqual(unknown)
    expect(merged(unknown, stale(3))).toEqual(unknown)
    expect(merged(decided('ok', 'reserved'), stale(3))).toEqual(unknown)
    expect(merged(decided('ok', 'reserved'), busy)).toEqual(unknown)
  })

  test('stale only when all are, under the highest epoch; else busy', () => {
    expect(merged(stale(3), stale(5), stale(4))).toEqual(stale(5))
    expect(merged(stale(3), busy)).toEqual(busy)
    expect(merged(busy, busy)).toEqual(busy)
  })

  test('of nothing that was asked for nothing was taken: a shard that is stale speaks for all', () => {
    const ofNothing = (...replies: readonly ReserveReply[]) =>
      mergeReplies(
        replies.map((reply, shard) => ({ shard, reply })),
        [],
      )
    expect(ofNothing(decided('ok'), stale(3))).toEqual(stale(3))
    expect(ofNothing(decided('ok'), stale(3), busy)).toEqual(busy)
    expect(ofNothing(decided('ok'), busy)).toEqual(busy)
    expect(ofNothing(decided('ok'), stale(3), unknown)).toEqual(unknown)
    expect(ofNothing(decided('ok'), decided('ok'))).toMatchObject({ status: 'ok', answers: [] })
  })

  test.each([
    ['ok', 'paused', 'paused'],
    ['paused', 'early', 'early'],
    ['early', 'over', 'over'],
    ['over', 'ok', 'over'],
    ['ok', 'ok', 'ok'],
  ] as const)('of %p and %p the window is %p, and every ask keeps its own code', (one, other, strictest) => {
    const reply = merged(decided(one, 'reserved', 'same'), decided(other, 'not_now'))
    expect(reply.status).toBe(strictest)
    expect('answers' in reply && reply.answers.map(answer => answer.code)).toEqual(['reserved', 'same', 'not_now'])
  })

  test('answers come in the order of the asks, whichever place gave them', () => {
    const replies = [
      { shard: 2, reply: decided('ok', 'reserved', 'same') },
      { shard: 0, reply: decided('ok', 'not_enough', 'id_conflict') },
    ]
    const reply = mergeReplies(replies, [0, 2, 2, 0])
    expect('answers' in reply && reply.answers.map(answer => answer.code)).toEqual([
      'not_enough',
      'reserved',
      'same',
      'id_conflict',
    ])
    expect(() => mergeReplies(replies, [0, 2, 2, 2, 0])).toThrow()
  })
})
