/**
 * Closed-loop load: N connections, each sending its next request as soon as the last one was answered, until the time or the requests are
 * used up. Waits for the answer to every request, so the counts of both sides can be compared exactly.
 * Does not retry: a broken connection is counted and not reopened.
 */

import type { Clock } from '../../src/base/clock.ts'
import { type Answer, Connection, type Target } from '../../src/rehearsal/client/connection.ts'
import { Histogram } from '../../src/rehearsal/client/histogram.ts'

interface ClosedLoop {
  readonly target: Target
  readonly connections: number
  readonly forMs: number
  readonly clock: Clock
  /** The next request's bytes; undefined when there are no more. */
  readonly next: () => Buffer | undefined
  /** With the moment of the request. */
  readonly onAnswer?: (answer: Answer, sentMs: number) => void
}

export interface LoadResult {
  /** Answers, whatever they said, and how long it took from the first request to the last answer. */
  readonly answers: number
  readonly tookMs: number
  readonly perSecond: number
  readonly latency: Histogram
  readonly statuses: ReadonlyMap<number, number>
  /** Requests that were sent and never answered. */
  readonly broken: number
  readonly usedUp: boolean
}

/** How long after the last request was sent its answer may come. */
const LAST_ANSWER_MS_MAX = 15_000

export async function runClosedLoop(loop: ClosedLoop): Promise<LoadResult> {
  const { clock, next, onAnswer } = loop
  const latency = new Histogram()
  const statuses = new Map<number, number>()
  const sentAt = new Map<Connection, { ms: number }>()
  const finished = Promise.withResolvers<void>()
  let answers = 0
  let broken = 0
  let usedUp = false
  let until = Number.POSITIVE_INFINITY
  let lastMs = 0

  const answered = (connection: Connection, answer: Answer) => {
    const nowMs = clock.elapsed()
    const sent = sentAt.get(connection)!
    latency.add(nowMs - sent.ms)
    answers += 1
    lastMs = nowMs
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    onAnswer?.(answer, sent.ms)
    if (nowMs < until) sendNext(connection, sent, nowMs)
    else finish(connection)
  }
  const sendNext = (connection: Connection, sent: { ms: number }, nowMs: number) => {
    const request = next()
    if (request === undefined) {
      usedUp = true
      finish(connection)
      return
    }
    sent.ms = nowMs
    connection.send(request)
  }
  const finish = (connection: Connection) => {
    sentAt.delete(connection)
    if (sentAt.size === 0) finished.resolve()
  }

  const ended = (connection: Connection) => {
    if (sentAt.has(connection)) broken += 1
    finish(connection)
  }

  const connections = await openAll(loop, answered, ended)
  const beganMs = clock.elapsed()
  until = beganMs + loop.forMs
  for (const connection of connections) sentAt.set(connection, { ms: 0 })
  for (const [connection, sent] of sentAt) sendNext(connection, sent, clock.elapsed())
  const gaveUp = new AbortController()
  await Promise.race([finished.promise, clock.sleep(loop.forMs + LAST_ANSWER_MS_MAX, gaveUp.signal)])
  gaveUp.abort()
  broken += sentAt.size
  for (const connection of connections) connection.close()
  const tookMs = Math.max(lastMs - beganMs, 0.001)
  return { answers, tookMs, perSecond: (answers / tookMs) * 1000, latency, statuses, broken, usedUp }
}

/** All or none: what was opened beside a refused one is closed again. */
async function openAll(
  { target, connections }: ClosedLoop,
  onAnswer: (connection: Connection, answer: Answer) => void,
  onEnd: (connection: Connection) => void,
): Promise<readonly Connection[]> {
  const tried = await Promise.allSettled(
    Array.from({ length: connections }, () => Connection.open(target, onAnswer, onEnd)),
  )
  const open = tried.flatMap(one => (one.status === 'fulfilled' ? one.value : []))
  const failed = tried.find(one => one.status === 'rejected')
  if (failed === undefined) return open
  for (const connection of open) connection.close()
  throw failed.reason
}
