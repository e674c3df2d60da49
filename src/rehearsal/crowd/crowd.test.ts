import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { seededRandom } from '../../base/random.ts'
import type { Answer } from '../client/connection.ts'
import { ANSWER_MS_MAX, type Job } from '../client/pool.ts'
import { createRequests } from '../client/requests.ts'
import { DEFAULT_MIX, type Mix } from '../plan/plan.ts'
import { NORMAL, type TimeLimits, WITH_FAULT } from '../time-limits.ts'
import { Crowd } from './crowd.ts'
import { Tally } from './tally.ts'

const PLAIN: Mix = { ...DEFAULT_MIX, time: 0, early: 0, double: 0, pay: 0, cancel: 0, bots: 0 }

interface Said {
  readonly afterMs: number
  /** Undefined: the connection breaks instead. */
  readonly answer: Answer | undefined
}
/** What the server does with the click that a buyer makes for the `times`-th time, counted from 1. */
type Server = (buyer: number, times: number, nowMs: number) => Said

const SILENT_MS = 300_000
const answer = (status: number, body: object): Answer => ({
  status,
  bytes: Buffer.from(JSON.stringify(body)),
  bodyAt: 0,
})
const soon = (said: Answer): Said => ({ afterMs: 5, answer: said })
const order = (buyer: number, state = 'pending') => ({ id: String(buyer), attempt: 1, quantity: 1, state })
const placed = (buyer: number) => soon(answer(201, order(buyer)))
const same = (buyer: number) => soon(answer(200, order(buyer)))
const soldOut = soon(answer(409, { code: 'sold_out' }))
const busy = soon(answer(503, { code: 'busy' }))
/** The pool gives up and says so. */
const hangs: Said = { afterMs: ANSWER_MS_MAX, answer: undefined }
/** Not even that: it waits in line for a connection that never comes. */
const silent: Said = { afterMs: SILENT_MS, answer: undefined }

/** A crowd before a made-up server. Time goes on only while they wait, a millisecond at a time; it opens at 1,000. */
function play(arrivalsMs: readonly number[], server: Server, more: { mix?: Mix; limits?: TimeLimits } = {}) {
  let nowMs = 0
  const due: { atMs: number; hear: () => void }[] = []
  const clock: Clock = {
    now: () => nowMs,
    elapsed: () => nowMs,
    async sleep(ms) {
      nowMs += ms
      for (const one of due.filter(({ atMs }) => atMs <= nowMs)) {
        due.splice(due.indexOf(one), 1)
        one.hear()
      }
    },
  }
  const clicks = new Map<number, number>()
  const pool = {
    gone: false,
    send(job: Job) {
      const buyer = Number(/ticket-(\d+)/.exec(String(job.bytes))?.[1])
      const times = (clicks.get(buyer) ?? 0) + 1
      clicks.set(buyer, times)
      job.sentMs = nowMs
      const said = server(buyer, times, nowMs - openMs)
      const hear = () => (said.answer === undefined ? job.lost(nowMs) : job.answered(said.answer, nowMs))
      due.push({ atMs: nowMs + said.afterMs, hear })
    },
  }
  const openMs = 1_000
  const names = arrivalsMs.map((_, i) => `buyer-${i}`)
  const tally = new Tally(-2_000)
  const crowd = new Crowd({
    clock,
    random: seededRandom(1),
    pool,
    botPool: undefined,
    requests: createRequests({ host: 'x', port: 1 }, '', { sale: '1', item: '2' }),
    names,
    tokens: names,
    tickets: names.map((_, i) => `ticket-${i}`),
    item: '2',
    mix: more.mix ?? PLAIN,
    arrivalsMs: Float64Array.from(arrivalsMs),
    openMs,
    tally,
    limits: more.limits ?? NORMAL,
  })
  const stop = new AbortController()
  return { crowd, tally, stop, run: () => crowd.run(stop.signal), nowMs: () => nowMs - openMs }
}

const buyers = (count: number) => Array.from({ length: count }, (_, i) => i * 10)

test('a click that hangs is not left out: its answer counts from the click that hung, whatever the retry costs', async () => {
  const { crowd, tally, run } = play(buyers(100), (buyer, times) => (buyer < 2 && times === 1 ? hangs : soldOut))
  await run()
  const latency = crowd.latency()
  expect(latency.count).toBe(100)
  expect(latency.quantile(0.98)).toBeLessThan(20)
  expect(latency.quantile(0.99)).toBeGreaterThan(ANSWER_MS_MAX)
  expect(tally.answers.get('unknown')).toBe(2)
})

test('several clicks without an answer are one wait, from the first of them', async () => {
  const { crowd, run } = play([0], (_, times) => (times <= 2 ? hangs : soldOut))
  await run()
  expect(crowd.latency().count).toBe(1)
  expect(crowd.latency().maxMs).toBeGreaterThan(2 * ANSWER_MS_MAX)
})

test('"later" is an answer with a latency of its own; from click to row all of it counts', async () => {
  const { crowd, tally, run } = play([0], (buyer, times) => (times <= 2 ? busy : placed(buyer)))
  await run()
  expect(crowd.latency().count).toBe(3)
  expect(crowd.latency().maxMs).toBeLessThan(20)
  expect(tally.placed.count).toBe(1)
  expect(tally.placed.maxMs).toBeGreaterThan(2_000)
})

test('an answer that the API does not know took its time as well', async () => {
  const late = { afterMs: 3_000, answer: answer(500, { code: 'internal' }) }
  const { crowd, run } = play([0], () => late)
  await run()
  expect({ count: crowd.latency().count, maxMs: crowd.latency().maxMs }).toEqual({ count: 1, maxMs: 3_000 })
})

test('a second click that nobody repeats counts with the time until it was given up', async () => {
  const mix = { ...PLAIN, double: 1 }
  const { crowd, run } = play([0], (buyer, times) => (times === 2 ? hangs : placed(buyer)), { mix })
  await run()
  expect(crowd.latency().count).toBe(2)
  expect(crowd.latency().maxMs).toBeWithin(ANSWER_MS_MAX, ANSWER_MS_MAX + 2)
})

test('whoever clicks as often as they can and hears nothing counts once, with all of that time', async () => {
  const { crowd, run } = play([0], () => ({ afterMs: 5, answer: undefined }))
  await run()
  expect(crowd.buyers.settledCount).toBe(0)
  expect(crowd.latency().count).toBe(1)
  expect(crowd.latency().maxMs).toBeGreaterThan(30_000)
})

test('whoever has no answer when it is over counts with the time until then', async () => {
  const { crowd, tally, stop, run, nowMs } = play([0, 50, 100], (buyer, _, atMs) => {
    if (buyer !== 2) return silent
    stop.abort()
    return atMs < 0 ? soldOut : silent
  })
  await run()
  expect(crowd.latency().count).toBe(3)
  expect(crowd.latency().maxMs).toBe(nowMs())
  expect(tally.asked.count).toBe(0)
})

test('an order whose answer was lost is found by the retry, and its row counts from the first click', async () => {
  const { tally, run } = play([0, 10], (buyer, times) => (times === 1 && buyer === 0 ? hangs : same(buyer)))
  await run()
  expect(tally.placed.count).toBe(2)
  expect(tally.placed.maxMs).toBeGreaterThan(ANSWER_MS_MAX)
})

test('a row counts once, however often its buyer hears of it', async () => {
  const mix = { ...PLAIN, double: 1 }
  const { tally, run } = play([0], (buyer, times) => (times === 1 ? placed(buyer) : same(buyer)), { mix })
  await run()
  expect(tally.placed.count).toBe(1)
})

test('a reserved order that the second click finds placed is a row as well', async () => {
  const mix = { ...PLAIN, double: 1 }
  const reserved = (buyer: number) => soon(answer(202, order(buyer, 'reserved')))
  const { tally, run } = play([0], (buyer, times) => (times === 1 ? reserved(buyer) : same(buyer)), { mix })
  await run()
  expect(tally.placed.count).toBe(1)
})

test('who comes back for a returned unit begins anew: from that click to the row, retries included', async () => {
  const { crowd, tally, run } = play([0], (buyer, times) => (times === 1 ? soldOut : times <= 3 ? busy : placed(buyer)))
  await run()
  expect(crowd.buyers.comeBack(1)).toBe(1)
  await run()
  expect(tally.placed.count).toBe(1)
  expect(tally.placed.maxMs).toBeWithin(2_000, 3_000)
})

const faultOf = (running: Promise<void>) =>
  running.then(
    () => undefined,
    (error: unknown) => error,
  )

test('a server that falls silent is given up after a minute, in one line', async () => {
  const { crowd, run, nowMs } = play(buyers(50), buyer => (buyer < 20 ? soldOut : silent))
  const fault = await faultOf(run())
  expect(fault).toBeInstanceOf(Fault)
  expect((fault as Fault).message).toBe('the server has answered nothing for 60 s, and buyers are waiting')
  expect(nowMs()).toBeWithin(60_000, 61_000)
  expect(crowd.latency().count).toBe(50)
  expect(crowd.latency().quantile(0.5)).toBeGreaterThan(59_000)
})

test('neither giving up on one click after the other nor a pause between them makes the silence shorter', async () => {
  const { run, nowMs } = play([0], () => hangs)
  expect(await faultOf(run())).toBeInstanceOf(Fault)
  expect(nowMs()).toBeWithin(60_000, 61_000)
})

test('where a part is killed on purpose the silence may last as long as a recovery', async () => {
  const { run, nowMs } = play([0], () => hangs, { limits: WITH_FAULT })
  expect(await faultOf(run())).toBeInstanceOf(Fault)
  expect(nowMs()).toBeWithin(120_000, 121_000)
})

test('a slow server is not a silent one, and a time without clicks is no silence', async () => {
  const slow = { afterMs: 15_000, answer: soldOut.answer }
  const { crowd, run } = play([0, 15_000, 30_000, 45_000, 60_000, 75_000, 200_000], () => slow)
  expect(await faultOf(run())).toBeUndefined()
  expect(crowd.buyers.settledCount).toBe(7)
})

test('a click that was lost long ago does not make the next one late', async () => {
  const mix = { ...PLAIN, early: 1 }
  const { crowd, run } = play([200_000], (_, times) => (times === 1 ? hangs : soldOut), { mix })
  expect(await faultOf(run())).toBeUndefined()
  expect(crowd.buyers.settledCount).toBe(1)
})
