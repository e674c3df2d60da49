import { expect, test } from 'bun:test'
import { Histogram } from './client/histogram.ts'
import { Tally } from './crowd/tally.ts'
import { DEFAULT_MIX } from './plan/plan.ts'
import { describeConstant, type RehearsalOptions, summarize } from './result.ts'

const OPTIONS: RehearsalOptions = {
  buyers: 100,
  units: 10,
  shards: 1,
  shape: { kind: 'spike', withinMs: 1_000 },
  mix: DEFAULT_MIX,
  seed: 1,
  connections: 10,
  server: { url: 'http://127.0.0.1:1', token: 't' },
  kind: 'throwaway',
}

function found(tally: Tally, crowd?: Parameters<typeof summarize>[0]['crowd'], constantMs: number | null = null) {
  return summarize({
    options: OPTIONS,
    startedAt: '2026-11-15T10:00:00.000Z',
    sale: { sale: '1', item: '2', name: 'x' },
    opensAtMs: 0,
    tally,
    crowd,
    facts: undefined,
    partial: 'interrupted',
    fault: null,
    constantMs,
    notes: [],
    machine: 'x',
  })
}

test('the funnel begins with the tickets that were really given, however early it ended', () => {
  const tally = new Tally(0)
  expect(found(tally).funnel[0]).toEqual({ name: 'got a ticket', count: 0 })
  tally.tickets = 37
  expect(found(tally).funnel[0]).toEqual({ name: 'got a ticket', count: 37 })
})

test('latency is that of everybody, also of those who wait when it is over', () => {
  const tally = new Tally(0)
  tally.asked.add(5)
  const all = new Histogram()
  for (const ms of [5, 60_000]) all.add(ms)
  const checkout = { paid: 0, cancelled: 0 }
  const buyers = { settled: [], holders: new Map(), checkout }
  const { latency } = found(tally, { buyers, line: undefined, latency: () => all })
  expect({ count: latency.count, p99: latency.p99 }).toEqual({ count: 2, p99: 60_000 })
})

test('the last answer stands beside that of a constant server, where one was asked', () => {
  const tally = new Tally(0)
  tally.lastAnswerMs = 1_800
  expect(found(tally).constant).toBeNull()
  const { constant } = found(tally, undefined, 1_200)
  expect(constant).toEqual({ lastAnswerMs: 1_200, ratio: 1.5 })
  expect(describeConstant(constant!)).toBe(
    'a constant server has answered the same crowd within 1.20 s: this one took 1.50 times as long',
  )
})
