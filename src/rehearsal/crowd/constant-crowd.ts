/**
 * The same crowd before a constant server (`edge/constant-server.ts`): same clicks, same connections, same bytes, but for the host. How long everyone waits for
 * an answer there is what client, kernel and machine need; the report puts the rehearsed server's time beside it.
 */

import type { Clock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { createRequests } from '../client/requests.ts'
import { DEFAULT_MIX, FIRST_CLICK_MS, type Mix } from '../plan/plan.ts'
import { arrivals, type Shape } from '../plan/shape.ts'
import { NORMAL } from '../time-limits.ts'
import { openConnections, targetOf } from './connections.ts'
import { Crowd } from './crowd.ts'
import type { Credentials } from './sign-in.ts'
import { Tally } from './tally.ts'

interface ConstantCrowd {
  readonly url: string
  readonly sale: Readonly<Record<'sale' | 'item', string>>
  readonly credentials: Credentials
  readonly shape: Shape
  readonly mix: Mix
  readonly seed: number
  readonly connections: number
  readonly bots: number
  readonly clock: Clock
  readonly stop: AbortSignal
}

const WARM_UP_BUYERS_MAX = 5_000
const WARM_UP_CONNECTIONS_MAX = 256
const WARM_UP_MS = 200
const NO_EXTRAS: Mix = { ...DEFAULT_MIX, time: 0, early: 0, double: 0, bots: 0 }

/** When the last buyer was answered, from the opening; undefined when it was stopped, or not everyone was. */
export async function runConstantCrowd(parts: ConstantCrowd): Promise<number | undefined> {
  const { clock, stop, sale, credentials, seed, mix } = parts
  const { target } = targetOf(parts.url)
  const pool = await openConnections('buyers', parts.connections, target, clock, { stop })
  const botPool = parts.bots === 0 ? undefined : await openConnections('bots', parts.bots, target, clock, { stop })
  try {
    const random = seededRandom(seed)
    const arrivalsMs = arrivals(parts.shape, credentials.names.length, random)
    const tally = new Tally(-FIRST_CLICK_MS)
    const requests = createRequests(target, '', sale)
    const openMs = clock.elapsed() + (mix.time + mix.early > 0 ? FIRST_CLICK_MS : 0)
    const wishes = { ...credentials, item: sale.item, mix, arrivalsMs, openMs, tally, limits: NORMAL }
    const crowd = new Crowd({ clock, random, pool, botPool, requests, ...wishes })
    await crowd.run(stop)
    return crowd.buyers.settledCount === credentials.names.length ? tally.lastAnswerMs : undefined
  } finally {
    pool.close()
    botPool?.close()
  }
}

/** Some made-up buyers, so that the client's code is compiled before the first crowd is timed, whichever server that one meets. */
export async function warmUpClient(url: string, buyers: number, clock: Clock, stop: AbortSignal): Promise<void> {
  const words = Array.from({ length: Math.min(buyers, WARM_UP_BUYERS_MAX) }, (_, i) => `warm-up-${i}`)
  await runConstantCrowd({
    url,
    sale: { sale: '1', item: '2' },
    credentials: { names: words, tokens: words, tickets: words },
    shape: { kind: 'spike', withinMs: WARM_UP_MS },
    mix: NO_EXTRAS,
    seed: 1,
    connections: Math.min(words.length, WARM_UP_CONNECTIONS_MAX),
    bots: 0,
    clock,
    stop,
  })
}
