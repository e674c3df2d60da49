import { afterEach, expect, test } from 'bun:test'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { noMeters } from '../../base/meters.ts'
import { OtlpExporter, type Span } from './otlp-exporter.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function receive(answer: (response: ServerResponse, body: string) => void): Promise<string> {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => answer(response, body))
  })
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`
}

/** @param answerMs how long a receiver has: one that hangs has had it soon */
function open(url: string, answerMs = 30_000) {
  const counts = { sent: 0, failed: 0, dropped: 0 }
  const told: string[] = []
  const write = ({ event }: { event: string }) => void told.push(event)
  const log: Log = { debug: write, info: write, warn: write, error: write }
  const meters = {
    ...noMeters,
    count(_: string, what: string, by = 1) {
      counts[what as keyof typeof counts] += by
    },
  }
  const clock = { ...systemClock, sleep: (_: number, signal?: AbortSignal) => systemClock.sleep(answerMs, signal) }
  const exporter = new OtlpExporter({ url, headers: { 'x-key': 'k' }, resource: { a: 'b' }, clock, log, meters })
  return { exporter, counts, told }
}

const span = (i: number): Span => ({
  traceId: 'a'.repeat(32),
  spanId: String(i).padStart(16, '0'),
  parentId: undefined,
  name: 'queue',
  fromMs: 1_763_313_000_000.25,
  toMs: 1_763_313_000_001,
})

test('all that waits is sent, in batches, with times to the microsecond', async () => {
  const bodies: string[] = []
  const url = await receive((response, body) => {
    bodies.push(body)
    response.end('{}')
  })
  const { exporter, counts } = open(url)
  for (let i = 0; i < 1_200; i++) exporter.add(span(i))
  await exporter.flush()
  expect(bodies).toHaveLength(3)
  expect(counts).toEqual({ sent: 1_200, failed: 0, dropped: 0 })
  expect(bodies[0]).toContain('"startTimeUnixNano":"1763313000000250000"')
})

test('a receiver that hangs costs spans, and nothing grows or waits', async () => {
  const { exporter, counts, told } = open(await receive(() => {}), 50)
  for (let i = 0; i < 20_000; i++) exporter.add(span(i))
  const flushed = exporter.flush()
  for (let i = 0; i < 20_000; i++) exporter.add(span(i))
  await flushed
  expect(counts.failed).toBe(512)
  expect(counts.dropped).toBeGreaterThan(30_000)
  expect(told).toEqual(['traces_not_taken'])
})

test('one that is not there, or refuses, is one line of the log, and the next flush tries again', async () => {
  const refusing = open(await receive(response => void response.writeHead(503).end()))
  const absent = open('http://127.0.0.1:1/v1/traces')
  for (const { exporter, counts, told } of [refusing, absent]) {
    for (let round = 0; round < 3; round++) {
      exporter.add(span(round))
      await exporter.flush()
    }
    expect(counts.failed).toBe(3)
    expect(told).toEqual(['traces_not_taken'])
  }
})
