/**
 * The waiting line on one process: joins a second over HTTP, each a committed row before it is answered, as many as there are connections at a time; and the memory
 * of one person in the copy that a process has of the line. Every number is given once, or it is a violation.
 */

import { SignJWT } from 'jose'
import { createKeyedHash } from '../../src/admission/rate/keyed-hash.ts'
import { systemRandom } from '../../src/base/random.ts'
import { HASH_BYTES } from '../../src/domain/draw/draw-bytes.ts'
import { LineBook } from '../../src/flows/line/line-book.ts'
import type { Stage, Survey, SurveyFigure } from '../bench-case.ts'
import { runClosedLoop } from '../client/closed-loop.ts'
import { BUYER_JWT_SECRET, startStampede } from '../servers/stampede.ts'

const JOINS = 20_000
const PEOPLE = [100_000, 1_000_000]
const JOINS_MS_MAX = 60_000
const CONNECTIONS = [64, 512]
const JOINED = 201

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
  const env = { CALLS_PER_ADDRESS: 'off', CALLS_PER_BUYER: 'off' }
  const stampede = await startStampede(() => clock.now(), undefined, { env })
  try {
    const inMs = (ms: number) => new Date(clock.now() + ms).toISOString()
    const sale = (await stampede.operate('POST', '/sales', {
      name: 'Bench',
      opensAt: inMs(3_600_000),
      closesAt: inMs(7_200_000),
      line: { opensAt: inMs(-1_000), order: 'arrival' },
      items: [{ name: 'Bench item', price: { amount: 19_900, currency: 'CNY' }, units: 100 }],
    })) as { id: string }
    await stampede.operate('POST', `/sales/${sale.id}/publish`)
    const { host, port } = stampede.target
    const requests: Buffer[] = []
    const count = blink ? 500 : JOINS
    for (let i = 0; i < count; i++) {
      const head = `POST /api/sales/${sale.id}/line HTTP/1.1\r\nhost: ${host}:${port}\r\nauthorization: Bearer ${await tokenOf(`buyer-${i}`)}`
      requests.push(Buffer.from(`${head}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`, 'latin1'))
    }
    let i = 0
    const { target } = stampede
    const result = await runClosedLoop({ target, connections, forMs: JOINS_MS_MAX, clock, next: () => requests[i++] })
    for (const [status, times] of result.statuses) if (status !== JOINED) violations.push(`${times} × status ${status}`)
    if (result.broken > 0) violations.push(`${result.broken} joins without an answer`)
    const shown = (await stampede.operate('GET', `/sales/${sale.id}`)) as { line: { joined: number } }
    if (shown.line.joined !== result.answers)
      violations.push(`${result.answers} joins were answered, ${shown.line.joined} are in line`)
    const group = `joins of ${connections} connections`
    return [
      { group, at: 'one process', value: result.perSecond, unit: 'joins/s' },
      { group, at: '99th percentile', value: result.latency.quantile(0.99), unit: 'ms' },
    ]
  } finally {
    await stampede.stop()
  }
}

function tokenOf(buyer: string): Promise<string> {
  const key = new TextEncoder().encode(BUYER_JWT_SECRET)
  return new SignJWT({ sub: buyer }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(key)
}
