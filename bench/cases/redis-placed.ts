/**
 * The cost of a gate in Redis: orders placed per second by one process that is edge, worker and keeper, on Redis with `appendfsync always`;
 * beside the same process with the gate in memory, both on the same PostgreSQL, each in its own database; and beside an item of the cluster
 * with `door: ledger`, which uses no gate. A buyer who is told "reserved" counts too: all rows are counted when the outbox is empty.
 */

import type { BenchCase, Contestant, PreparedCase, Stage } from '../bench-case.ts'
import { ACKNOWLEDGED, Acknowledged, buyersOf } from '../client/buyers.ts'
import { placePostgres } from '../cores.ts'
import { startBenchRedis } from '../servers/redis.ts'
import { type ItemOnSale, type Stampede, startStampede } from '../servers/stampede.ts'

export const UNITS = 10_000_000
export const TICKETS_PER_SECOND = 50_000
const HOUR_MS = 3_600_000
const QUIET_MS_MAX = 20_000
const LOOK_EVERY_MS = 100

export const redisPlaced: BenchCase = {
  name: 'placed over redis, PostgreSQL on any core',
  what: 'orders acknowledged by one process with its gate in Redis, beside one with the gate inside',
  aims: {},
  needs: ['redis-server'],
  onlyWhenNamed: true,
  prepare,
}

async function prepare(stage: Stage): Promise<PreparedCase> {
  const { clock, connections, stampede } = stage
  placePostgres(stampede.postgres.pid, 'any core')
  const redis = await startBenchRedis('always')
  let cluster: Stampede | undefined
  const close = async () => {
    await cluster?.stop()
    await redis.stop()
  }
  try {
    cluster = await startStampede(() => clock.now(), { redisUrl: redis.url, postgres: stampede.postgres })
    const sides = [
      {
        name: 'on redis',
        server: cluster,
        on: await cluster.openSale({ units: UNITS }),
        acknowledged: new Acknowledged(),
      },
      {
        name: 'behind the ledger',
        server: cluster,
        on: await cluster.openSale({ units: UNITS, door: 'ledger' }),
        acknowledged: new Acknowledged(),
      },
      {
        name: 'in the process',
        server: stampede,
        on: await stampede.openSale({ units: UNITS }),
        acknowledged: new Acknowledged(),
      },
    ]
    for (const side of sides) side.acknowledged.placed += await firstOrder(stage, side.server, side.on)
    const [subject, ...references] = sides.map(
      ({ name, server, on, acknowledged }): Contestant =>
        buyersOf({
          name,
          serverPid: server.pid,
          target: server.target,
          stampede: server,
          clock,
          connections,
          items: [on],
          ticketsPerSecond: TICKETS_PER_SECOND,
          acknowledged,
        }),
    )
    return {
      subject: subject!,
      references,
      settings: { redisFolder: redis.folder },
      async check() {
        const violations: string[] = []
        for (const { name, server, on, acknowledged } of sides) {
          violations.push(...acknowledged.unexpected)
          const pending = await pendingWhenQuiet(stage, server, on)
          if (pending !== acknowledged.placed)
            violations.push(`${name}: ${acknowledged.placed} were acknowledged, ${pending} rows`)
        }
        return { violations }
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** An edge of a cluster learns of a sale a moment after it was published: until then it answers "busy". */
export async function firstOrder({ clock }: Stage, server: Stampede, on: ItemOnSale): Promise<1> {
  const claims = {
    ...on,
    buyer: `the-first-at-${server.pid}`,
    attempt: 1,
    notBeforeMs: 0,
    expiresAtMs: clock.now() + HOUR_MS,
  }
  const lateMs = clock.elapsed() + QUIET_MS_MAX
  for (;;) {
    const { status, body } = await server.ask(on, server.tickets.issue(claims))
    if (ACKNOWLEDGED.includes(status)) return 1
    if (clock.elapsed() > lateMs) throw new Error(`nothing could be ordered: ${status} ${body}`)
    await clock.sleep(LOOK_EVERY_MS)
  }
}

/** The number of rows, once the audit agrees; orders that are not placed by then are missing. */
export async function pendingWhenQuiet({ clock }: Stage, server: Stampede, on: ItemOnSale): Promise<number> {
  const lateMs = clock.elapsed() + QUIET_MS_MAX
  for (;;) {
    const { consistent, pending, available, gate } = await server.audit(on)
    if ((consistent && (gate === null || gate.left === available)) || clock.elapsed() > lateMs) return pending
    await clock.sleep(LOOK_EVERY_MS)
  }
}
