import { expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import type { Span } from './otlp-exporter.ts'
import { Tracer } from './tracer.ts'

const OUTER = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7'

function open(sample: number, perSecond = 1_000_000) {
  const spans: Span[] = []
  const time = { ms: 0 }
  const clock = { now: () => 1_763_313_000_000 + time.ms, elapsed: () => time.ms, sleep: async () => {} }
  const exporter = { add: (span: Span) => void spans.push(span) }
  const tracer = new Tracer({ sample, perSecond, clock, random: seededRandom(7), exporter })
  return { tracer, spans, time }
}

const chosen = (tracer: Tracer, of: number, given: string | null = null) =>
  Array.from({ length: of }, () => tracer.click(given)).filter(one => one !== undefined).length

test('about the asked part is traced; nothing at 0, everything at 1', () => {
  expect(chosen(open(0).tracer, 10_000)).toBe(0)
  expect(chosen(open(1).tracer, 100)).toBe(100)
  const some = chosen(open(0.01).tracer, 100_000)
  expect(some).toBeGreaterThan(800)
  expect(some).toBeLessThan(1_200)
})

test('what the shop has chosen is traced under its id, what it has not chosen is not, and what is malformed counts as nothing', () => {
  expect(open(0).tracer.click(`${OUTER}-01`)?.traceId).toBe(OUTER.slice(3, 35))
  expect(open(1).tracer.click(`${OUTER}-00`)).toBeUndefined()
  expect(open(0).tracer.click('forged')).toBeUndefined()
})

test('a second has only so many traces, whoever asks for them', () => {
  const { tracer, time } = open(1, 5)
  expect(chosen(tracer, 100, `${OUTER}-01`)).toBe(5)
  expect(chosen(tracer, 100)).toBe(0)
  time.ms = 1_000
  expect(chosen(tracer, 100)).toBe(5)
})

test('steps follow each other without a gap and add up to the request; the carried one has the id that was given away', () => {
  const { tracer, spans, time } = open(0)
  const click = tracer.click(`${OUTER}-01`)!
  for (const name of ['queue', 'gate', 'placed', 'answer'] as const) {
    click.step(name)
    time.ms += 10
  }
  tracer.span(click.parent, 'commit', tracer.nowMs() - 5, tracer.nowMs())
  expect(click.end({})).toBe(40)
  const [commit, request, ...steps] = spans
  expect(request).toMatchObject({ parentId: '00f067aa0ba902b7', isServer: true })
  expect(steps.map(one => one.name)).toEqual(['admit', 'queue', 'gate', 'placed', 'answer'])
  expect(steps.every(one => one.parentId === request!.spanId)).toBe(true)
  expect(steps.reduce((sum, one) => sum + one.toMs - one.fromMs, 0)).toBeCloseTo(request!.toMs - request!.fromMs, 3)
  expect(commit!.parentId).toBe(steps[3]!.spanId)
})
