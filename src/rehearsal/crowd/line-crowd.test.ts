import { expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import type { Answer } from '../client/connection.ts'
import { createRequests } from '../client/requests.ts'
import { Schedule } from '../plan/schedule.ts'
import { NORMAL } from '../time-limits.ts'
import { LineCrowd } from './line-crowd.ts'
import { Tally } from './tally.ts'

const OPENS = Date.parse('2030-01-01T12:00:00.000Z')
type Told = { status?: number; [member: string]: unknown } | undefined
const join = (number: number, state: string, more: object = {}) => ({
  number,
  state,
  left: 5,
  pollAfterSeconds: 2,
  ...more,
})
const letIn = (number: number, atS: number) =>
  join(number, 'admitted', { claimBy: new Date(OPENS + atS * 1_000).toISOString() })
const ticket = { ticket: 'a-ticket' }

/** Each buyer hears its own answers, one after the other, the last one for ever; undefined is a broken connection. */
function play(answers: Readonly<Record<string, readonly Told[]>>, midway: (line: LineCrowd) => void = () => {}) {
  let nowMs = 0
  const heard = new Map<string, number>()
  const schedule = new Schedule<{ atMs: number; act: () => void }>([])
  const tally = new Tally(0)
  const said: string[] = []
  const tokens = Object.keys(answers)
  const line = new LineCrowd(
    {
      random: seededRandom(1),
      limits: NORMAL,
      requests: createRequests({ host: 'x', port: 1 }, '', { sale: '1', item: '2' }),
      tokens,
      tally,
      nowMs: () => nowMs,
      send(bytes, answered, lost) {
        const who = /Bearer (\w+)/.exec(bytes.toString())?.[1] ?? ''
        const count = heard.get(who) ?? 0
        heard.set(who, count + 1)
        const told = answers[who]!.at(Math.min(count, answers[who]!.length - 1))
        const answer: Answer = {
          status: told?.status ?? 200,
          bytes: Buffer.from(JSON.stringify(told ?? {})),
          bodyAt: 0,
        }
        if (told === undefined) lost()
        else answered(answer, nowMs, nowMs)
      },
      later: (afterMs, act) => schedule.add({ atMs: nowMs + afterMs, act }),
      letIn: (buyer, given) => said.push(`${tokens[buyer]} may order with ${given}`),
      soldOut: buyer => said.push(`${tokens[buyer]} hears sold out`),
      lost: buyer => said.push(`${tokens[buyer]} is lost`),
    },
    tokens.length,
  )
  for (const buyer of tokens.keys()) line.go(buyer)
  midway(line)
  for (; schedule.size > 0 && nowMs < 200_000; nowMs += 10)
    for (let due = schedule.take(nowMs); due; due = schedule.take(nowMs)) due.act()
  return { line, said, unexpected: Object.fromEntries(tally.unexpected), heard }
}

test('a buyer joins, waits as long as it is told, and orders when let in; busy servers and lost answers are asked again', () => {
  const busy = { status: 503, code: 'busy' }
  const answers = [busy, undefined, join(1, 'waiting'), join(1, 'waiting'), busy, letIn(1, 9), busy, ticket]
  const { line, said, unexpected } = play({ ann: answers })
  expect(said).toEqual(['ann may order with a-ticket'])
  expect(unexpected).toEqual({})
  expect(line.figures()).toMatchObject({ joins: 1, letIn: 1, letInPerSecond: null })
  expect(line.waitMs.quantile(0.5)).toBeGreaterThan(3_500)
})

test('a missed turn leads to a new number, sold out ends the asking, and a server that never answers well is given up', () => {
  const missed = [join(1, 'waiting'), join(1, 'missed'), join(3, 'waiting'), letIn(3, 9), ticket]
  const { said, unexpected, line } = play({ ann: missed, bob: [join(2, 'waiting', { left: 0 })], eve: [undefined] })
  expect(said.toSorted()).toEqual(['ann may order with a-ticket', 'bob hears sold out', 'eve is lost'])
  expect(unexpected).toEqual({})
  expect(line.inOrder()).toEqual([2, 1, 0])
})

test('what a line must never do is noticed: one number for two, a second number for one, one ahead let in later', () => {
  const twice = play({ ann: [join(1, 'waiting', { left: 0 })], bob: [join(1, 'waiting', { left: 0 })] })
  expect(twice.unexpected).toEqual({ 'one number for two buyers': 1 })
  const second = play({ ann: [join(1, 'waiting', { left: 0 }), join(2, 'waiting')] }, line => line.again(0))
  expect(second.unexpected).toEqual({ 'a second number for one buyer': 1 })
  const fair = { ann: [join(1, 'waiting'), letIn(1, 8), ticket], bob: [join(2, 'waiting'), letIn(2, 8), ticket] }
  expect(play(fair).line.outOfOrder()).toBe(0)
  expect(play({ ...fair, ann: [join(1, 'waiting'), letIn(1, 9), ticket] }).line.outOfOrder()).toBe(1)
  expect(play({ ann: [{ status: 500, code: 'internal' }] }).unexpected).toEqual({ 'join in line: 500 internal': 1 })
})
