/**
 * What events cost: placed orders with events, beside the same server without them, each on a PostgreSQL of its own, both on the server's core, so that
 * all that an order costs shows. With one item a batch is one row; with a hundred, the batches that go together are. Afterwards every order that a
 * buyer was told of has its event.
 */

import type { BenchCase, PreparedCase, Stage } from '../bench-case.ts'
import { Acknowledged, buyersOf } from '../client/buyers.ts'
import { placePostgres } from '../cores.ts'
import { type ItemOnSale, type Stampede, startStampede } from '../servers/stampede.ts'

const UNITS = 10_000_000
const TICKETS_PER_SECOND = 50_000
const WARM_MS = 2_000
const TOLD_MS_MAX = 30_000
const AGAIN_MS = 100

export const eventsOff: readonly BenchCase[] = [1, 100].flatMap(items =>
  [64, 256].map(connections => ({
    name: `events on, ${items === 1 ? 'one item' : `${items} items`}, ${connections} connections`,
    what: 'orders placed and committed with their events, beside EVENTS=off',
    aims: { 'events off': { rate: 0.9 } },
    onlyWhenNamed: true as const,
    alsoNamed: 'kafka',
    prepare: (stage: Stage) => prepare(stage, items, connections),
  })),
)

interface Side {
  readonly name: string
  readonly stampede: Stampede
  readonly items: readonly ItemOnSale[]
  readonly acknowledged: Acknowledged
}

async function prepare(stage: Stage, count: number, connections: number): Promise<PreparedCase> {
  const { clock } = stage
  const nowMs = () => clock.now()
  const open = async (name: string, events: string): Promise<Side> => {
    const stampede = await startStampede(nowMs, undefined, { env: { EVENTS: events } })
    placePostgres(stampede.postgres.pid, 'server core')
    const items = await stampede.openSaleOf(count, { units: UNITS })
    return { name, stampede, items, acknowledged: new Acknowledged() }
  }
  const on = await open('events on', 'on')
  const off = await open('events off', 'off')
  const crowd = ({ name, stampede, items, acknowledged }: Side) =>
    buyersOf({
      ...{ name, stampede, items, acknowledged, clock, connections },
      serverPid: stampede.pid,
      target: stampede.target,
      ticketsPerSecond: TICKETS_PER_SECOND,
    })
  const [subject, reference] = [crowd(on), crowd(off)]
  // Bun keeps compiling hot code for seconds.
  if (!stage.blink) for (const one of [subject, reference]) await (await one.prepare(WARM_MS))()
  return {
    subject,
    references: [reference],
    settings: { items: count, connections },
    async check() {
      const violations = [...on.acknowledged.unexpected, ...off.acknowledged.unexpected]
      for (const side of [on, off]) {
        let pending = 0
        for (const item of side.items) pending += (await side.stampede.audit(item)).pending
        if (pending !== side.acknowledged.placed)
          violations.push(`${side.name}: told ${side.acknowledged.placed} buyers "placed", ${pending} rows`)
      }
      // The opening of the sale is an event too.
      const events = await eventsOf(stage, on, on.acknowledged.placed + 1)
      if (events !== on.acknowledged.placed + 1)
        violations.push(`${on.acknowledged.placed} orders and an opening, ${events} events`)
      const none = await eventsOf(stage, off, 0)
      if (none !== 0) violations.push(`EVENTS=off: ${none} events`)
      return { violations }
    },
    async close() {
      await on.stampede.stop()
      await off.stampede.stop()
    },
  }
}

/** How many have a number; numbers follow the orders within a second. */
async function eventsOf({ clock }: Stage, { stampede }: Side, expected: number): Promise<number> {
  const untilMs = clock.elapsed() + TOLD_MS_MAX
  for (;;) {
    const { next } = (await stampede.operate('GET', '/events?after=newest')) as { next: string }
    if (Number(next) >= expected || clock.elapsed() > untilMs) return Number(next)
    await clock.sleep(AGAIN_MS)
  }
}
