/**
 * Orders for a sold-out item while others flood the server with requests for a challenge, beside the same orders alone. The flood has a fixed rate:
 * what ten addresses may ask together by the limits as shipped (RATE_PER_ADDRESS, 100/1s). Each is of a signed-in buyer, and gets a new challenge.
 * Before it, so many ask as do before any opening: code that has run a thousand times costs three times what it costs after twenty thousand.
 */

import { SignJWT } from 'jose'
import { systemRandom } from '../../src/base/random.ts'
import type { Target } from '../../src/rehearsal/client/connection.ts'
import type { BenchCase, Contestant, PreparedCase, Stage } from '../bench-case.ts'
import { askersOf } from '../client/buyers.ts'
import { runClosedLoop } from '../client/closed-loop.ts'
import { runOpenLoop } from '../client/open-loop.ts'
import { orderRequest } from '../client/request-bytes.ts'
import { cpuMicros } from '../cores.ts'
import { BUYER_JWT_SECRET, type ItemOnSale } from '../servers/stampede.ts'

const UNITS = 1
const BUYERS = 5_000
/** Each asks four times before, and once in a round: within the limit per buyer (5/1s), however fast the machine is. */
const FLOODERS = 10_000
const ASKED_BEFORE = 40_000
const ASKED_BEFORE_MS_MAX = 60_000
const FLOOD_PER_S = 1_000
const FLOOD_CONNECTIONS = 16
const HOUR_MS = 3_600_000
const SOLD_OUT = 409
const CHALLENGE_REQUIRED = 403

export const challengeFlood: BenchCase = {
  name: 'challenge flood',
  what: `orders for a sold-out item beside ${FLOOD_PER_S} requests for a challenge a second, and the same orders alone`,
  aims: { alone: { rate: 0.9 } },
  onlyWhenNamed: true,
  prepare,
}

async function prepare(stage: Stage): Promise<PreparedCase> {
  const { clock, stampede, connections } = stage
  const on = await stampede.openSale({ units: UNITS })
  const asked = await stampede.openSale({ units: UNITS })
  await stampede.operate('PATCH', `/sales/${asked.sale}`, { challenge: 'auto' })
  const expiresAtMs = clock.now() + HOUR_MS
  const ticketOf = (buyer: string) => stampede.tickets.issue({ ...on, buyer, attempt: 1, notBeforeMs: 0, expiresAtMs })
  const bought = await stampede.ask(on, ticketOf('the-one-who-got-it'))
  if (bought.status !== 201) throw new Error(`the only unit could not be bought: ${bought.status}`)
  const requests = Array.from({ length: BUYERS }, (_, i) =>
    orderRequest(stampede.target, on.sale, on.item, ticketOf(`buyer-${i}`)),
  )
  const flood = await Promise.all(
    Array.from({ length: FLOODERS }, async (_, i) =>
      ticketRequest(stampede.target, asked, await tokenOf(`asker-${i}`)),
    ),
  )
  let before = stage.blink ? 0 : ASKED_BEFORE
  const next = () => (before-- > 0 ? flood[before % flood.length] : undefined)
  await runClosedLoop({
    target: stampede.target,
    connections: FLOOD_CONNECTIONS,
    forMs: ASKED_BEFORE_MS_MAX,
    clock,
    next,
  })
  const unexpected = new Set<string>()
  const askers = (name: string) =>
    askersOf({ name, server: stampede, clock, connections, requests, status: SOLD_OUT, unexpected })
  let made = 0
  const spent = { flooded: { micros: 0, answers: 0 }, alone: { micros: 0, answers: 0 } }
  const begun = new Set<string>()
  /** Reads what the server's CPU spent on a round, whatever else this machine does. The first round warms up. */
  const measured = (name: keyof typeof spent, contestant: Contestant): Contestant => ({
    ...contestant,
    async prepare(forMs) {
      const load = await contestant.prepare(forMs)
      return async () => {
        const isFirst = !begun.has(name)
        begun.add(name)
        const before = cpuMicros(stampede.pid, false) ?? 0
        const result = await load()
        if (isFirst) {
          made = 0
          return result
        }
        spent[name].micros += (cpuMicros(stampede.pid, false) ?? 0) - before
        spent[name].answers += result.answers
        return result
      }
    },
  })
  const flooded = askers('flooded')
  const subject: Contestant = {
    ...flooded,
    async prepare(forMs) {
      const load = await flooded.prepare(forMs)
      return async () => {
        let i = 0
        const beside = runOpenLoop({
          target: stampede.target,
          connections: FLOOD_CONNECTIONS,
          perSecond: FLOOD_PER_S,
          forMs,
          clock,
          random: systemRandom,
          restMs: 1,
          next: () => flood[i++ % flood.length],
        })
        const [result, asks] = await Promise.all([load(), beside])
        for (const status of asks.statuses.keys())
          if (status !== CHALLENGE_REQUIRED) unexpected.add(`the flood: status ${status}`)
        made += asks.answers
        return result
      }
    },
  }
  const settings: Record<string, unknown> = { floodPerSecond: FLOOD_PER_S }
  return {
    subject: measured('flooded', subject),
    references: [measured('alone', askers('alone'))],
    settings,
    async check() {
      const { flooded, alone } = spent
      const askMicros = (flooded.micros - (flooded.answers * alone.micros) / alone.answers) / made
      settings.cpuMicrosPerAsk = Math.round(askMicros)
      settings.partOfACore = Math.round(askMicros * FLOOD_PER_S) / 1e6
      if (made === 0) unexpected.add('the flood: no challenge was made')
      return { violations: [...unexpected] }
    },
    close: async () => {},
  }
}

function ticketRequest(target: Target, { sale, item }: ItemOnSale, token: string): Buffer {
  return Buffer.from(
    `POST /api/sales/${sale}/items/${item}/ticket HTTP/1.1\r\nhost: ${target.host}:${target.port}\r\nauthorization: Bearer ${token}\r\ncontent-length: 0\r\n\r\n`,
    'latin1',
  )
}

function tokenOf(buyer: string): Promise<string> {
  return new SignJWT({ sub: buyer })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(BUYER_JWT_SECRET))
}
