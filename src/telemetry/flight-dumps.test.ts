import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Log } from '../base/log.ts'
import { createFlightDumps } from './flight-dumps.ts'
import { FlightRecorder } from './flight-recorder.ts'

const folder = mkdtempSync(join(tmpdir(), 'stampede-flight-'))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function open(path = join(folder, 'flight')) {
  let nowMs = 1_763_313_000_000
  const told: string[] = []
  const write = ({ event }: { event: string }) => void told.push(event)
  const log: Log = { debug: write, info: write, warn: write, error: write }
  const clock = { now: () => nowMs, elapsed: () => nowMs, sleep: async () => {} }
  const flight = new FlightRecorder(clock)
  const dumps = createFlightDumps({
    flight,
    folder: path,
    clock,
    log,
    process: { node: () => 3, roles: ['edge'], pid: 42 },
  })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { dumps, flight, told, pass, path }
}

test('a dump names the process and why, and holds a line for each decision', () => {
  const { dumps, flight, told, path } = open()
  flight.note('placed', '7', '4711')
  flight.note('sold_out', '7', '')
  dumps.dump('signal')
  expect(told).toEqual(['flight_dumped'])
  const [name = ''] = readdirSync(path)
  const [head, ...lines] = readFileSync(join(path, name), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(name).toMatch(/^flight-2025-11-16T[\d]+Z-42-signal\.jsonl$/)
  expect(head).toMatchObject({ why: 'signal', node: 3, roles: ['edge'], noted: 2, decisions: 2 })
  expect(lines).toMatchObject([
    { what: 'placed', order: '4711' },
    { what: 'sold_out', count: 1 },
  ])
})

test('alarms by the thousand make one dump a minute, and the oldest files go', () => {
  const { dumps, told, pass, path } = open()
  for (let i = 0; i < 1_000; i++) dumps.dumpByItself('alarm')
  expect(told).toHaveLength(1)
  for (let i = 0; i < 20; i++) {
    pass(61_000)
    dumps.dumpByItself('alarm')
  }
  expect(told).toHaveLength(21)
  expect(readdirSync(path)).toHaveLength(8)
})

test('a folder that can not be written is a line of the log', () => {
  const { dumps, told } = open(join(folder, 'file', 'flight'))
  rmSync(folder, { recursive: true, force: true })
  writeFileSync(folder, '')
  dumps.dump('signal')
  expect(told).toEqual(['flight_not_dumped'])
})
