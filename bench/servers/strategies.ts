/**
 * The textbook endpoints (`one-by-one.ts`), ready to be measured: each with its own tables, copied from the shape of the ledger's in the
 * same PostgreSQL, and with the pool size that is best for it. A reference that is not at its best would be unfair.
 */

import pg from 'pg'
import { connectionTo } from '../../src/ledger/embedded/postmaster.ts'
import { type Child, startChild } from './child.ts'
import type { ItemOnSale, Stampede } from './stampede.ts'

export type Strategy = 'pessimistic' | 'optimistic' | 'guarded'

/** An item's stock and orders in a contestant's tables. */
interface Sold {
  readonly units: number
  readonly available: number
  readonly sold: number
}

export interface Strategies {
  readonly children: ReadonlyMap<Strategy, Child>
  readonly settings: Readonly<Record<string, unknown>>
  /** Copies an item of the ledger into the tables of all of them. */
  offer(on: ItemOnSale): Promise<void>
  /** `stampede` is read from the ledger's own tables. */
  soldBy(who: Strategy | 'stampede', on: ItemOnSale): Promise<Sold>
  stop(): Promise<void>
}

/** All pools of one strategy, the chosen pools of the others and the server's own stay within PostgreSQL's connections. */
const POOL_SIZES = [1, 2, 4, 8]
/** When no sizes are tried. */
const POOL_SIZE_USUAL = 2
const TRY_PASSES = 2
/** As many as the ledger's own pool. */
const PARTITIONS = 4

interface Wishes {
  readonly stampede: Stampede
  readonly names: readonly Strategy[]
  readonly on: ItemOnSale
  /** Measures placed orders per second for a short time; undefined: no sizes are tried. */
  readonly rate: ((strategy: Strategy, child: Child) => Promise<number>) | undefined
  /** Sizes found before: used where present, added where missing. */
  readonly known?: Map<Strategy, number>
}

export async function startStrategies({ stampede, names, on, rate, known = new Map() }: Wishes): Promise<Strategies> {
  const { socketFolder } = stampede.postgres
  const ledger = new pg.Client({ ...connectionTo(socketFolder) })
  await ledger.connect()
  const children = new Map<Strategy, Child>()
  const settings: Record<string, unknown> = {}

  const offer = async ({ item }: ItemOnSale) => {
    for (const name of names)
      await ledger.query(`INSERT INTO ${name}.items SELECT * FROM public.items WHERE id = ${item}`)
  }
  const stop = async () => {
    for (const child of children.values()) await child.stop()
    for (const name of names) await ledger.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`)
    await ledger.end()
  }
  try {
    for (const name of names) await makeTables(ledger, name)
    await offer(on)
    for (const name of names) {
      const start = (poolSize: number) =>
        startChild('./one-by-one.ts', [name, String(poolSize)], {
          SOCKET_FOLDER: socketFolder,
          SCHEMA: name,
          TICKET_KEYS: stampede.ticketKeys,
        })
      const size = known.get(name) ?? (rate === undefined ? POOL_SIZE_USUAL : undefined)
      if (size !== undefined) {
        children.set(name, await start(size))
        settings[`${name}Pool`] = size
        continue
      }
      const { child, poolSize, tried } = await bestPool(start, one => rate!(name, one))
      children.set(name, child)
      known.set(name, poolSize)
      settings[`${name}Pool`] = poolSize
      settings[`${name}PoolsTried`] = tried
    }
  } catch (error) {
    await stop()
    throw error
  }

  return {
    children,
    settings,
    offer,
    async soldBy(who, { item }) {
      const schema = who === 'stampede' ? 'public' : who
      const rows = await ledger.query(
        `SELECT units::int, available::int,
                (SELECT coalesce(sum(quantity), 0)::int FROM ${schema}.orders WHERE item = $1 AND state <> 'closed') AS sold
         FROM ${schema}.items WHERE id = $1`,
        [item],
      )
      return rows.rows[0]
    },
    stop,
  }
}

/** Only the optimistic endpoint uses the version column; the others have it too, so that all rows are alike. */
async function makeTables(ledger: pg.Client, schema: Strategy): Promise<void> {
  await ledger.query(`
    DROP SCHEMA IF EXISTS ${schema} CASCADE;
    CREATE SCHEMA ${schema};
    CREATE TABLE ${schema}.items (LIKE public.items INCLUDING ALL) WITH (fillfactor = 50);
    ALTER TABLE ${schema}.items ADD COLUMN version bigint NOT NULL DEFAULT 1;
    CREATE TABLE ${schema}.orders (LIKE public.orders INCLUDING ALL) PARTITION BY HASH (item)`)
  for (let i = 0; i < PARTITIONS; i++) {
    const values = `FOR VALUES WITH (MODULUS ${PARTITIONS}, REMAINDER ${i})`
    await ledger.query(`CREATE TABLE ${schema}.orders_${i} PARTITION OF ${schema}.orders ${values}`)
  }
}

/** All sizes alternate, twice, and the best try counts: a size must not lose to other load on the machine. */
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
  const child = children.get(best)!
  for (const one of children.values()) if (one !== child) await one.stop()
  return { child, poolSize: best, tried }
}
