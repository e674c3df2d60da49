import { expect, test } from 'bun:test'
import { Tally } from '../crowd/tally.ts'
import { DEFAULT_MIX } from '../plan/plan.ts'
import { type Rehearsal, summarize } from '../result.ts'
import { renderReport } from './report.ts'

/** Nothing has happened yet. */
function result(url: string, kind: Rehearsal['server']['kind'], more: Partial<Rehearsal> = {}): Rehearsal {
  const nothing = summarize({
    options: {
      buyers: 100,
      units: 10,
      shards: 1,
      shape: { kind: 'spike', withinMs: 1_000 },
      mix: DEFAULT_MIX,
      seed: 1,
      connections: 256,
      server: { url, token: 't' },
      kind,
    },
    startedAt: '2026-11-15T10:00:00.000Z',
    sale: { sale: '1', item: '2', name: 'x' },
    opensAtMs: 0,
    tally: new Tally(0),
    crowd: undefined,
    facts: undefined,
    partial: 'interrupted',
    fault: null,
    constantMs: null,
    notes: [],
    machine: 'x',
  })
  return { ...nothing, ...more }
}

const rowOf = (html: string, name: string) => new RegExp(`<th scope="row">${name}</th><td>([^<]*)</td>`).exec(html)?.[1]
const connections = (url: string, kind: Rehearsal['server']['kind']) =>
  rowOf(renderReport(result(url, kind)), 'connections')

test('where buyers came from and whether limits were on is said only as far as it is known', () => {
  expect(connections('http://127.0.0.1:1234', 'throwaway')).toBe(
    '256, each from an address of its own; the server’s limits were on',
  )
  const unknown = 'whether the server limits requests is not known here'
  expect(connections('http://localhost:1234', 'running')).toBe(`256, each from an address of its own; ${unknown}`)
  expect(connections('https://shop.example', 'running')).toBe(`256, all from one address; ${unknown}`)
  expect(connections('http://[::1]:1234', 'running')).toBe(`256, all from one address; ${unknown}`)
})

test('what nobody knows is not shown as a number', () => {
  const html = renderReport(result('http://127.0.0.1:1', 'throwaway'))
  for (const words of ['What was sold is not known.', 'No buyer was told of one.'])
    expect({ words, said: html.includes(words) }).toEqual({ words, said: true })
  for (const words of ['Never sold out', '0.0 ms', 'fetched beforehand'])
    expect({ words, said: html.includes(words) }).toEqual({ words, said: false })
})

test('a promise that was not judged is not shown as kept', () => {
  const books = { units: 10, sold: 10, available: 0, pending: 10, paid: 0, closed: 0 }
  const html = renderReport(
    result('http://127.0.0.1:1', 'throwaway', {
      books: { ...books, orderRows: 10, liveOrderRows: 10, consistent: true },
      promises: [
        { no: 1, name: 'No oversell', broken: 0, notJudged: null },
        { no: 3, name: 'No undersell', broken: 0, notJudged: 'it ended early' },
        { no: 4, name: 'One order for each buyer', broken: 1, notJudged: null },
        { no: 5, name: 'First come, first served', broken: 2, notJudged: 'the gate was rebuilt' },
      ],
    }),
  )
  expect(rowOf(html, 'No oversell')).toBe('kept')
  expect(rowOf(html, 'No undersell')).toBe('not judged: it ended early')
  expect(rowOf(html, 'One order for each buyer')).toBe('broken once')
  expect(rowOf(html, 'First come, first served')).toBe('broken 2 times')
})

test('a sale of a million orders can be drawn, on a page that opens', () => {
  const stock = Array.from({ length: 1_200_000 }, (_, i) => [i / 1_000, 1_200_000 - i] as const)
  const html = renderReport(result('http://127.0.0.1:1', 'throwaway', { stock }))
  expect(html.match(/<svg/g)).toHaveLength(5)
  expect(html.length).toBeLessThan(500_000)
})

test('the comparison with a constant server is a line of the settings, and absent where there was none', () => {
  const at = (constant: Rehearsal['constant']) =>
    rowOf(renderReport(result('http://127.0.0.1:1', 'throwaway', { constant })), 'for comparison')
  expect(at(null)).toBeUndefined()
  expect(at({ lastAnswerMs: 1_200, ratio: 1.5 })).toContain('within 1.20 s: this one took 1.50 times as long')
})
