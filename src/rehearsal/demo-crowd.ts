/**
 * The demo's crowd: guests with new names sign in, get their tickets, wait for the opening if it is still to come, and then all want the
 * same item. Some pay, a few cancel, and a few refused buyers come back for the returned units. Paced to be watched. Gives no verdict and
 * no report: that is what a rehearsal is for. In a sale with a waiting line they join at once, and those who are let in buy.
 */

import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { createRequests } from './client/requests.ts'
import { openConnections, targetOf } from './crowd/connections.ts'
import { Crowd } from './crowd/crowd.ts'
import { signIn } from './crowd/sign-in.ts'
import { Tally } from './crowd/tally.ts'
import { DEFAULT_MIX, FIRST_CLICK_MS, type Mix } from './plan/plan.ts'
import { arrivals } from './plan/shape.ts'
import { NORMAL } from './time-limits.ts'

interface DemoCrowdTask {
  readonly url: string
  readonly sale: string
  readonly item: string
  readonly opensAtMs: number
  readonly buyers: number
  readonly hasLine: boolean
}

const CONNECTIONS = 200
const MIX: Mix = { ...DEFAULT_MIX, pay: 0.4, cancel: 0.05, bots: 0 }
/** At the opening buyers hurry; in a sale that is open already they arrive over a longer time. */
const AT_OPENING_MS = 4_000
const WHILE_OPEN_MS = 8_000
/** Time to open the connections again: those of the sign-in would be idle for too long. */
const CONNECT_MS = 500
const RETURNED_MS = 1_000
/** Before its process is ended from outside. */
const CROWD_MS = 80_000
const COME_BACK_PER_UNIT = 3
const ALL_INTERFACES = new Set(['0.0.0.0', '[::]'])

export async function runDemoCrowd(
  task: DemoCrowdTask,
  { clock, random, stop }: { readonly clock: Clock; readonly random: Random; readonly stop: AbortSignal },
): Promise<void> {
  const url = new URL(task.url)
  if (ALL_INTERFACES.has(url.hostname)) url.hostname = '127.0.0.1'
  const { target } = targetOf(url.href)
  const connect = () => openConnections('demo', CONNECTIONS, target, clock)
  const requests = createRequests(target, '', task)
  const family = Buffer.from(random.bytes(4)).toString('hex')
  const names = Array.from({ length: task.buyers }, (_, i) => `crowd-${family}-${i + 1}`)

  // Those who still wait in line then stay in it, and come no more.
  const [late, ended] = [new AbortController(), new AbortController()]
  const leaving = AbortSignal.any([stop, late.signal])
  void clock.sleep(CROWD_MS, AbortSignal.any([stop, ended.signal])).then(() => late.abort())
  let pool = await connect()
  try {
    const credentials = await signIn({ pool, requests, clock, stop }, names, undefined, undefined, task.hasLine)
    // A line is joined before the opening.
    const opensInMs = task.hasLine ? 0 : task.opensAtMs - clock.now()
    const waits = opensInMs > FIRST_CLICK_MS
    if (waits) {
      pool.close()
      await clock.sleep(opensInMs - FIRST_CLICK_MS - CONNECT_MS, stop)
      if (stop.aborted) return
      pool = await connect()
    }
    const crowd = new Crowd({
      clock,
      random,
      pool,
      botPool: undefined,
      requests,
      ...credentials,
      item: task.item,
      mix: waits ? MIX : { ...MIX, early: 0, time: 0 },
      arrivalsMs: arrivals({ kind: 'ramp', withinMs: waits ? AT_OPENING_MS : WHILE_OPEN_MS }, task.buyers, random),
      openMs: clock.elapsed() + Math.max(0, opensInMs),
      hasLine: task.hasLine,
      tally: new Tally(-FIRST_CLICK_MS),
      limits: NORMAL,
    })
    await crowd.run(leaving)
    const { cancelled } = crowd.buyers.checkout
    if (leaving.aborted || cancelled === 0) return
    await clock.sleep(RETURNED_MS, leaving)
    crowd.comeBack(cancelled * COME_BACK_PER_UNIT)
    await crowd.run(leaving)
  } finally {
    ended.abort()
    pool.close()
  }
}
