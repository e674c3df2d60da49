/**
 * The click that wins: orders answered `201` after the commit, each by another buyer with a ticket, never sold out; beside the textbook
 * endpoint that locks the item's row per request, on the same PostgreSQL, in tables of the same shape. The reference gets the pool size
 * that serves it best. Afterwards both books are held against what the buyers were told.
 */

import pg from 'pg'
import { connectionTo } from '../../src/ledger/embedded/postmaster.ts'
import type { Target } from '../../src/rehearsal/client/connection.ts'
import type { BenchCase, Contestant, PreparedCase, Stage } from '../bench-case.ts'
import { runClosedLoop } from '../client/closed-loop.ts'
import { orderRequest } from '../client/request-bytes.ts'
import { type Placement, placePostgres } from '../cores.ts'
import { type Child, startChild } from '../servers/child.ts'
import type { ItemOnSale } from '../servers/stampede.ts'

const UNITS = 10_000_000
const HOUR_MS = 3_600_000
/** Together they stay within PostgreSQL's connections; 32 was never the best. */
const POOL_SIZES = [1, 2, 4, 8, 16]
const TRY_MS = 500
const TRY_PASSES = 2
const PLACED = 201
/** Tickets made per second of a round; a round that uses them up ends early and is still right. */
const TICKETS_PER_SECOND = { stampede: 50_000, pessimistic: 6_000 }
const SCHEMA = 'pessimistic'
/** As many as the ledger's own. */
const PARTITIONS = 4

/** Everything but the load on one core: what an order costs in all. */
export const placedOnOneCore: BenchCase = {
  name: 'placed, PostgreSQL on the server core',
  what: 'orders placed and committed, beside BEGIN, SELECT … FOR UPDATE, UPDATE, INSERT, COMMIT per request',
  aim: 10,
  prepare: stage => prepare(stage, 'server core'),
}

/** PostgreSQL may take what the load leaves of the other core: nearer to how a machine is used. */
export const placedOnAnyCore: BenchCase = {
  name: 'placed, PostgreSQL on any core',
  what: placedOnOneCore.what,
  aim: 10,
  prepare: stage => prepare(stage, 'any core'),
}

async function prepare(stage: Stage, placement: Placement): Promise<PreparedCase> {
  const { stampede } = stage
  placePostgres(stampede.postgres.pid, placement)
  const on = await stampede.openSale(UNITS)
  const { socketFolder } = stampede.postgres
  const ledger = new pg.Client({ ...connectionTo(socketFolder) })
  await ledger.connect()
  await ledger.query(`
    DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE;
    CREATE SCHEMA ${SCHEMA};
    CREATE TABLE ${SCHEMA}.items (LIKE public.items INCLUDING ALL) WITH (fillfactor = 50);
    CREATE TABLE ${SCHEMA}.orders (LIKE public.orders INCLUDING ALL) PARTITION BY HASH (item);
    INSERT INTO ${SCHEMA}.items SELECT * FROM public.items WHERE id = ${on.item}`)
  for (let i = 0; i < PARTITIONS; i++) {
    const values = `FOR VALUES WITH (MODULUS ${PARTITIONS}, REMAINDER ${i})`
    await ledger.query(`CREATE TABLE ${SCHEMA}.orders_${i} PARTITION OF ${SCHEMA}.orders ${values}`)
  }

  const startPessimistic = (poolSize: number) =>
    startChild('./pessimistic.ts', [String(poolSize), on.item], {
      SOCKET_FOLDER: socketFolder,
      SCHEMA,
      TICKET_KEYS: stampede.ticketKeys,
    })
  const told = { stampede: 0, pessimistic: 0 }
  const unexpected = new Set<string>()
  const contestant = (name: 'stampede' | 'pessimistic', serverPid: number, target: Target) =>
    buyersOf(stage, on, target, { name, serverPid, told, unexpected })

  const { pessimistic, poolSize, tried } = await bestPool(startPessimistic, async child => {
    const load = await contestant('pessimistic', child.pid, child.target).prepare(TRY_MS)
    return (await load()).perSecond
  })

  return {
    subject: contestant('stampede', stampede.pid, stampede.target),
    references: [contestant('pessimistic', pessimistic.pid, pessimistic.target)],
    settings: { pessimisticPool: poolSize, pessimisticPoolsTried: tried },
    async check() {
      const books = await stampede.audit(on)
      if (!books.consistent || books.units - books.available !== books.pending || books.gate?.left !== books.available)
        unexpected.add(`the books don't add up: ${JSON.stringify(books)}`)
      const rows = await ledger.query(
        `SELECT (SELECT count(*)::int FROM public.orders WHERE item = $1) AS stampede,
                (SELECT count(*)::int FROM ${SCHEMA}.orders WHERE item = $1) AS pessimistic,
                (SELECT (units - available)::int FROM ${SCHEMA}.items WHERE id = $1) AS taken`,
        [on.item],
      )
      const { stampede: placed, pessimistic: inserted, taken } = rows.rows[0]
      if (placed !== told.stampede) unexpected.add(`stampede: told ${told.stampede} buyers "placed", ${placed} rows`)
      if (inserted !== told.pessimistic || taken !== inserted)
        unexpected.add(`pessimistic: told ${told.pessimistic} buyers "placed", ${inserted} rows, ${taken} units gone`)
      return [...unexpected]
    },
    async close() {
      await pessimistic.stop()
      await ledger.end()
    },
  }
}

/**
 * The reference at its best. All sizes take turns, twice, and the best try counts: a size must not lose because the machine was busy
 * just then, or the reference would be a strawman.
 */
async function bestPool(start: (poolSize: number) => Promise<Child>, rate: (child: Child) => Promise<number>) {
  const children = new Map<number, Child>()
  const tried: Record<number, number> = {}
  let best = POOL_SIZES[0]!
  try {
    for (const poolSize of POOL_SIZES) children.set(poolSize, await start(poolSize))
    for (let pass = 0; pass < TRY_PASSES; pass++) {
      for (const [poolSize, child] of children) {
        tried[poolSize] = Math.max(tried[poolSize] ?? 0, Math.round(await rate(child)))
        if (tried[poolSize] > (tried[best] ?? 0)) best = poolSize
      }
    }
  } catch (error) {
    for (const child of children.values()) await child.stop()
    throw error
  }
  const pessimistic = children.get(best)!
  for (const child of children.values()) if (child !== pessimistic) await child.stop()
  return { pessimistic, poolSize: best, tried }
}

let buyersSoFar = 0

/** A crowd in which everybody orders once. */
function buyersOf(
  { clock, connections, stampede }: Stage,
  on: ItemOnSale,
  target: Target,
  as: {
    readonly name: 'stampede' | 'pessimistic'
    readonly serverPid: number
    readonly told: { stampede: number; pessimistic: number }
    readonly unexpected: Set<string>
  },
): Contestant {
  return {
    name: as.name,
    serverPid: as.serverPid,
    postgresPid: stampede.postgres.pid,
    async prepare(forMs) {
      const count = connections + Math.ceil((TICKETS_PER_SECOND[as.name] * forMs) / 1000)
      const expiresAtMs = clock.now() + HOUR_MS
      const requests = Array.from({ length: count }, () => {
        const buyer = `buyer-${buyersSoFar++}`
        const ticket = stampede.tickets.issue({ ...on, buyer, attempt: 1, notBeforeMs: 0, expiresAtMs })
        return orderRequest(target, on.sale, on.item, ticket)
      })
      return async () => {
        let i = 0
        const result = await runClosedLoop({ target, connections, forMs, clock, next: () => requests[i++] })
        as.told[as.name] += result.statuses.get(PLACED) ?? 0
        for (const [status, times] of result.statuses)
          if (status !== PLACED) as.unexpected.add(`${as.name}: ${times} × status ${status}`)
        if (result.broken > 0) as.unexpected.add(`${as.name}: ${result.broken} requests without an answer`)
        return result
      }
    },
  }
}
