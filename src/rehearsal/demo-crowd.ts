/**
 * The demo's crowd: so many guests, under names nobody had before, who sign in, get their tickets, wait for the opening if it is still
 * to come, and then all want the same thing. Some pay, a few cancel, and a few of those who were refused come back for what returned.
 * Paced to be watched: no verdict, no report (that is what a rehearsal is for).
 */

import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { Pool } from './client/pool.ts'
import { createRequests, type Wares } from './client/requests.ts'
import { Crowd } from './crowd/crowd.ts'
import { fetchTickets, signInGuests } from './crowd/sign-in.ts'
import { Tally } from './crowd/tally.ts'
import { DEFAULT_MIX, type Mix } from './plan/mix.ts'
import { STIR_MS } from './plan/plan.ts'
import { arrivals } from './plan/shape.ts'

interface DemoCrowdTask extends Wares {
  readonly url: string
  readonly opensAtMs: number
  readonly buyers: number
}

interface DemoCrowdParts {
  readonly clock: Clock
  readonly random: Random
  readonly stop: AbortSignal
}

const CONNECTIONS = 200
const MIX: Mix = { ...DEFAULT_MIX, pay: 0.4, cancel: 0.05, bots: 0 }
/** At the opening they are impatient; in a sale that is open they drop in. */
const AT_OPENING_MS = 4_000
const WHILE_OPEN_MS = 8_000
/** To open the connections again: those of the sign-in would be idle for too long. */
const CONNECT_MS = 500
const RETURNED_MS = 1_000
const COME_BACK_PER_UNIT = 3
const ANY_ADDRESS = new Set(['0.0.0.0', '[::]', 'localhost'])

export async function runDemoCrowd(task: DemoCrowdTask, { clock, random, stop }: DemoCrowdParts): Promise<void> {
  const { hostname, port } = new URL(task.url)
  const host = ANY_ADDRESS.has(hostname) ? '127.0.0.1' : hostname.replace(/^\[|\]$/g, '')
  const target = { host, port: Number(port || 80) }
  const addressOf = (seat: number) =>
    host.startsWith('127.') ? `127.77.${1 + Math.floor(seat / 250)}.${1 + (seat % 250)}` : undefined
  const open = () => Pool.open({ target, connections: CONNECTIONS, clock, addressOf })
  const requests = createRequests(target, '', task)
  const family = Buffer.from(random.bytes(4)).toString('hex')
  const names = Array.from({ length: task.buyers }, (_, i) => `crowd-${family}-${i + 1}`)

  let pool = await open()
  try {
    const tokens = await signInGuests(names, pool, requests, clock, stop, () => {})
    const tickets = await fetchTickets(tokens, pool, requests, clock, stop, () => {})
    const opensInMs = task.opensAtMs - clock.now()
    const waits = opensInMs > STIR_MS
    if (waits) {
      pool.close()
      await clock.sleep(opensInMs - STIR_MS - CONNECT_MS, stop)
      if (stop.aborted) return
      pool = await open()
    }
    const openMs = clock.elapsed() + Math.max(0, task.opensAtMs - clock.now())
    const withinMs = waits ? AT_OPENING_MS : WHILE_OPEN_MS
    const crowd = new Crowd({
      clock,
      random,
      pool,
      botPool: undefined,
      requests,
      names,
      credentials: { tokens, tickets },
      item: task.item,
      mix: waits ? MIX : { ...MIX, early: 0, time: 0 },
      arrivalsMs: arrivals({ kind: 'ramp', withinMs }, task.buyers, random),
      openMs,
      tally: new Tally(-STIR_MS),
    })
    await crowd.run(stop)
    if (stop.aborted || crowd.buyers.fates.cancelled === 0) return
    await clock.sleep(RETURNED_MS, stop)
    crowd.buyers.comeBack(crowd.buyers.fates.cancelled * COME_BACK_PER_UNIT)
    await crowd.run(stop)
  } finally {
    pool.close()
  }
}
