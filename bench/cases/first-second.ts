/**
 * The first second of a sale on a server that was just started, beside the tenth of the same server: is the code warm when it matters? And beside the
 * first second of a server that did not warm its code. Every round starts servers of its own; the sale is published ahead of its opening, as a shop
 * would do it.
 */

import type { BenchCase, Contestant, PreparedCase, Stage } from '../bench-case.ts'
import { Acknowledged, freshOrders } from '../client/buyers.ts'
import { type LoadResult, runClosedLoop } from '../client/closed-loop.ts'
import { type Stampede, startStampede } from '../servers/stampede.ts'

const UNITS = 10_000_000
/** Time for the server to warm its code, and for the bench to make tickets. */
const OPENS_IN_MS = 12_000
const BLINK_OPENS_IN_MS = 1_500
const SECOND_MS = 1_000
const SECONDS = 10
const TICKETS_PER_SECOND = 30_000

export const firstSecond: BenchCase = {
  name: 'first second',
  what: 'orders placed in the first second of a sale on a server that was just started, beside the tenth second',
  aims: { 'tenth second': { rate: 0.8 } },
  onlyWhenNamed: true,
  prepare,
}

/** A server and its whole crowd, from the opening on. */
interface Day {
  readonly stampede: Stampede
  readonly sell: (forMs: number) => Promise<LoadResult>
}

async function prepare(stage: Stage): Promise<PreparedCase> {
  const { clock, connections, blink } = stage
  const opensInMs = blink ? BLINK_OPENS_IN_MS : OPENS_IN_MS
  const secondMs = blink ? stage.roundMs : SECOND_MS
  const acknowledged = new Acknowledged()
  const running = new Set<Stampede>()
  let today: Day | undefined

  async function open(warmCode: 'on' | 'off', seconds: number): Promise<Day> {
    await stopAll()
    const stampede = await startStampede(() => clock.now(), undefined, { env: { WARM_CODE: warmCode } })
    running.add(stampede)
    const opensAtMs = clock.now() + opensInMs
    const on = await stampede.openSale({ units: UNITS }, opensInMs)
    const requests = freshOrders(
      { stampede, clock },
      stampede.target,
      [on],
      Math.ceil((seconds * secondMs * TICKETS_PER_SECOND) / 1000),
    )
    await clock.sleep(Math.max(0, opensAtMs + 1 - clock.now()))
    let i = 0
    const next = () => requests[i++]
    return {
      stampede,
      sell: async forMs =>
        acknowledged.add(
          stampede.target.host,
          await runClosedLoop({ target: stampede.target, connections, forMs, clock, next }),
        ),
    }
  }
  async function stopAll(): Promise<void> {
    for (const stampede of running) await stampede.stop()
    running.clear()
  }
  const contestant = (name: string, begin: () => Promise<Day>): Contestant => {
    let serverPid = 0
    return {
      name,
      get serverPid() {
        return serverPid
      },
      async prepare() {
        const day = await begin()
        serverPid = day.stampede.pid
        return () => day.sell(secondMs)
      },
    }
  }
  return {
    subject: contestant('first second', async () => {
      today = await open('on', SECONDS + 1)
      return today
    }),
    references: [
      contestant('tenth second', async () => {
        await today!.sell((SECONDS - 2) * secondMs)
        return today!
      }),
      contestant('first second, code not warmed', () => open('off', 2)),
    ],
    settings: { opensInMs },
    async check() {
      return { violations: [...acknowledged.unexpected] }
    },
    close: stopAll,
  }
}
