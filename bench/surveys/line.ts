/**
 * The waiting line on one process: joins a second over HTTP, each a committed row before it is answered, as many as there are connections at a time; how soon all open
 * sockets of those who wait have heard that it is sold out; and the memory of one person in the copy that a process has of the line. Every number is given once, or it
 * is a violation.
 */

import { SignJWT } from 'jose'
import { createKeyedHash } from '../../src/admission/rate/keyed-hash.ts'
import type { Clock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { HASH_BYTES } from '../../src/domain/draw/draw-bytes.ts'
import { LineBook } from '../../src/flows/line/line-book.ts'
import { LineListeners } from '../../test/harness/line-listeners.ts'
import { until } from '../../test/harness/until.ts'
import type { Stage, Survey, SurveyFigure } from '../bench-case.ts'
import { type LoadResult, runClosedLoop } from '../client/closed-loop.ts'
import { BUYER_JWT_SECRET, type Stampede, startStampede } from '../servers/stampede.ts'

const JOINS = 20_000
const SOCKETS = 10_000
const UNITS = 100
const PEOPLE = [100_000, 1_000_000]
const JOINS_MS_MAX = 60_000
const CONNECTIONS = [64, 512]
const JOINED = 201
const ENV = { CALLS_PER_ADDRESS: 'off', CALLS_PER_BUYER: 'off', SOCKETS_PER_ADDRESS: '10000' }

export const line: Survey = {
  name: 'line',
  byName: true,
  async run(stage, print) {
    const violations: string[] = []
    const figures: SurveyFigure[] = []
    for (const people of stage.blink ? [1_000] : PEOPLE) figures.push(bytesOf(people))
    print(`${this.name}: memory measured`)
    for (const connections of CONNECTIONS) figures.push(...(await joinsBy(stage, connections, violations)))
    print(`${this.name}: joins measured`)
    figures.push(...(await measureSoldOut(stage, violations)))
    print(`${this.name}: news measured`)
    return { name: this.name, what: 'the waiting line, on one process', figures, violations }
  },
}

function bytesOf(people: number): SurveyFigure {
  const start = new Uint8Array(HASH_BYTES)
  const book = new LineBook({ saltKey: start }, start, createKeyedHash(systemRandom), false)
  for (let i = 0; i < people; i++) book.add(`buyer-${i}`, start)
  return { group: 'memory of a person in line', at: `${people} people`, value: book.bytes / people, unit: 'bytes' }
}

async function joinsBy({ clock, blink }: Stage, connections: number, violations: string[]): Promise<SurveyFigure[]> {
  const stampede = await startStampede(() => clock.now(), undefined, { env: ENV })
  try {
    const { id } = await openLine(stampede, clock, 3_600_000)
    const tokens = await tokensFor(blink ? 500 : JOINS)
    const result = await join(stampede, clock, id, tokens, connections, violations)
    const group = `joins of ${connections} connections`
    return [
      { group, at: 'one process', value: result.perSecond, unit: 'joins/s' },
      { group, at: '99th percentile', value: result.latency.quantile(0.99), unit: 'ms' },
    ]
  } finally {
    await stampede.stop()
  }
}

/** From the answer to the operator who takes the last units away to the last socket that has heard of it. */
async function measureSoldOut({ clock, blink }: Stage, violations: string[]): Promise<SurveyFigure[]> {
  const stampede = await startStampede(() => clock.now(), undefined, { env: ENV })
  try {
    const { id, items } = await openLine(stampede, clock, -1_000)
    await stampede.operate('POST', `/sales/${id}/line/pause`)
    const tokens = await tokensFor(blink ? 200 : SOCKETS)
    await join(stampede, clock, id, tokens, CONNECTIONS.at(-1)!, violations)
    const listeners = new LineListeners(id)
    const { host, port } = stampede.target
    await listeners.open(`http://${host}:${port}`, tokens)
    await until('all have heard their place', () => listeners.waiting === tokens.length)
    if (listeners.told > 0) violations.push(`${listeners.told} heard that it is sold out while it was not`)
    const fromMs = clock.elapsed()
    const less = { delta: -UNITS, reason: 'sold out' }
    await stampede.operate('POST', `/sales/${id}/items/${items[0]!.id}/stock`, less)
    await until('all have heard that it is sold out', () => listeners.told === tokens.length)
    const value = listeners.lastToldMs - fromMs
    if (listeners.ended > 0) violations.push(`${listeners.ended} sockets ended`)
    listeners.close()
    return [{ group: 'news that it is sold out', at: `${tokens.length} sockets`, value, unit: 'ms' }]
  } finally {
    await stampede.stop()
  }
}

interface OpenedLine {
  readonly id: string
  readonly items: readonly { readonly id: string }[]
}

async function openLine(stampede: Stampede, clock: Clock, opensInMs: number): Promise<OpenedLine> {
  const inMs = (ms: number) => new Date(clock.now() + ms).toISOString()
  const sale = (await stampede.operate('POST', '/sales', {
    name: 'Bench',
    opensAt: inMs(opensInMs),
    closesAt: inMs(7_200_000),
    line: { opensAt: inMs(-2_000), order: 'arrival' },
    items: [{ name: 'Bench item', price: { amount: 19_900, currency: 'CNY' }, units: UNITS }],
  })) as OpenedLine
  await stampede.operate('POST', `/sales/${sale.id}/publish`)
  return sale
}

/** Each once, over so many connections. */
async function join(
  { target, operate }: Stampede,
  clock: Clock,
  sale: string,
  tokens: readonly string[],
  connections: number,
  violations: string[],
): Promise<LoadResult> {
  const head = `POST /api/sales/${sale}/line HTTP/1.1\r\nhost: ${target.host}:${target.port}\r\nauthorization: Bearer`
  const requests = tokens.map(token =>
    Buffer.from(`${head} ${token}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`, 'latin1'),
  )
  let i = 0
  const result = await runClosedLoop({ target, connections, forMs: JOINS_MS_MAX, clock, next: () => requests[i++] })
  for (const [status, times] of result.statuses) if (status !== JOINED) violations.push(`${times} × status ${status}`)
  if (result.broken > 0) violations.push(`${result.broken} joins without an answer`)
  const shown = (await operate('GET', `/sales/${sale}`)) as { line: { joined: number } }
  if (shown.line.joined !== result.answers)
    violations.push(`${result.answers} joins were answered, ${shown.line.joined} are in line`)
  return result
}

const tokensFor = (count: number) => Promise.all(Array.from({ length: count }, (_, i) => tokenOf(`buyer-${i}`)))

function tokenOf(buyer: string): Promise<string> {
  const key = new TextEncoder().encode(BUYER_JWT_SECRET)
  return new SignJWT({ sub: buyer }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(key)
}
