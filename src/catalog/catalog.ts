/**
 * Sales and items to read: this process's memory, then the copies that all processes share (in a cluster), then the ledger. One reader
 * goes, per key and process, and the others wait for its answer; of several processes one goes to the ledger (`shared-layer.ts`).
 *
 * A change is seen by every process as soon as it hears of it, and within `FRESH_MS` if it never does: what was read from the ledger is
 * not served for longer than that, wherever it was kept meanwhile, counted from before the ledger was asked. Lifetimes vary a little, so
 * that processes which began together do not come back together. Ids that don't exist are remembered too, for `NONE_MS`; ids that nobody
 * can have made yet are not looked up at all.
 *
 * When the ledger is away, what is known goes on being served, however old; when it only takes long, what is old is served after
 * `PATIENCE_MS`, and what is known to have been changed is waited for. When the shared copies are away, each process reads for itself.
 * Bounded: see `memory-layer.ts` for what is remembered; `READS_MAX` look-ups under way, then known answers or a fault; and
 * `STRANGERS_PER_S` ids that were never asked for here use the shared copies, so that made-up ids can't fill them.
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Counted } from '../base/meters.ts'
import type { Random } from '../base/random.ts'
import { madeAtMs } from '../base/snowflake.ts'
import { isId, type SaleId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'
import { createMemoryLayer, type Known } from './memory-layer.ts'
import { type CatalogKey, LIST, LISTED_MAX, type Sales, type SharedLayer } from './shared-layer.ts'
import { createSharedReader, type SharedReader } from './shared-reader.ts'

/** Where the catalog reads from. */
interface SaleSource {
  list(options: { readonly drafts: boolean; readonly limit: number }): Promise<Sales>
  find(id: SaleId): Promise<Sale | undefined>
}

interface CatalogParts {
  readonly source: SaleSource
  readonly clock: Clock
  readonly random: Random
  /** Unix ms, by the clock that windows are judged by. */
  readonly nowMs: () => number
  readonly count: (which: Counted['catalog_reads'][number]) => void
}

export interface Catalog {
  /** Published sales, latest opening first. */
  list(): Promise<Sales>
  /** A published sale. */
  find(id: SaleId): Promise<Sale | undefined>
  /** Something was changed by somebody else: what is known here is old. */
  invalidate(): void
  /** This process has changed something: what is known is old, here and everywhere. */
  changed(): void
  /** Reads what is warm or open, so that the shared copies have it before the crowd comes. */
  warm(): Promise<void>
  /** From now on copies are shared there. */
  share(layer: SharedLayer): void
}

interface Flight {
  readonly sales: Promise<Sales>
  /** Resolves when it has taken too long to wait for, and never if it does not. */
  readonly late: Promise<void>
}

const FRESH_MS = 750
/** Of that, so much may be over when a copy is taken from the shared ones: the rest is its time in memory. */
const SHARED_FRESH_MS = 500
/** Exactly: an id is not looked up twice a second, and not unknown for longer than that after it was made. */
const NONE_MS = 1_000
/** So long the shared copies are there for whoever finds the ledger away. */
const KEPT_MS = 3_600_000
const JITTER = 0.2
const PATIENCE_MS = 500
const READS_MAX = 1_000
const STRANGERS_PER_S = 200
/** Node ids are made by clocks that may be wrong, but not by so much. */
const YEAR_MS = 366 * 24 * 3_600_000

export function createCatalog({ source, clock, random, nowMs, count }: CatalogParts): Catalog {
  const memory = createMemoryLayer(clock)
  const flights = new Map<CatalogKey, Flight>()
  const strangers = { sinceMs: Number.NEGATIVE_INFINITY, count: 0 }
  let underway = 0
  let shared: SharedReader | undefined

  async function read(key: CatalogKey): Promise<Sales> {
    const known = memory.look(key)
    if (known?.standing === 'fresh') {
      count(isNone(key, known.sales) ? 'memory_none' : 'memory_hit')
      return known.sales
    }
    count('memory_miss')
    const flight = flights.get(key) ?? begin(key, known)
    if (flight === undefined) {
      if (known !== undefined) return known.sales
      throw new Fault('catalog_busy', `${underway} look-ups are under way already`, { retryable: true })
    }
    if (known?.standing !== 'old') return flight.sales
    return Promise.race([flight.sales, flight.late.then(() => known.sales)])
  }

  function begin(key: CatalogKey, known: Known | undefined): Flight | undefined {
    if (underway >= READS_MAX) return undefined
    underway += 1
    const done = new AbortController()
    const late = Promise.withResolvers<void>()
    void clock.sleep(PATIENCE_MS, done.signal).then(() => {
      if (!done.signal.aborted) late.resolve()
    })
    const sales = lookUp(key, known).finally(() => {
      underway -= 1
      done.abort()
      if (flights.get(key) === flight) flights.delete(key)
    })
    const flight = { sales, late: late.promise }
    flights.set(key, flight)
    return flight
  }

  async function lookUp(key: CatalogKey, known: Known | undefined): Promise<Sales> {
    const asOf = memory.changes()
    const copy = mayShare(key, known) ? await shared?.read(key) : undefined
    if (copy?.kind === 'known') {
      count(isNone(key, copy.sales) ? 'redis_none' : 'redis_hit')
      remember(key, copy.sales, copy.ageMs, asOf)
      return copy.sales
    }
    if (shared !== undefined) count('redis_miss')
    const sentAtMs = clock.elapsed()
    try {
      const sales = await readLedger(key)
      count(isNone(key, sales) ? 'ledger_none' : 'ledger_hit')
      remember(key, sales, clock.elapsed() - sentAtMs, asOf)
      if (copy?.kind === 'yours') {
        const none = isNone(key, sales)
        await shared?.keep(
          key,
          copy.lease,
          sales,
          none ? NONE_MS : varied(SHARED_FRESH_MS),
          none ? NONE_MS : varied(KEPT_MS),
        )
      }
      return sales
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      count('ledger_miss')
      if (copy?.kind === 'yours') await shared?.giveBack(key, copy.lease)
      const old = memory.look(key)?.sales ?? copy?.old ?? listed(key)
      if (old === undefined) throw error
      // Not asked again at once: it is the ledger that is away, and everybody asks.
      memory.keep(key, old, FRESH_MS, memory.changes())
      return old
    }
  }

  async function readLedger(key: CatalogKey): Promise<Sales> {
    if (key === LIST) return source.list({ drafts: false, limit: LISTED_MAX })
    const sale = await source.find(key)
    return sale === undefined || sale.state === 'draft' ? [] : [sale]
  }

  function remember(key: CatalogKey, sales: Sales, ageMs: number, asOf: number): void {
    memory.keep(key, sales, isNone(key, sales) ? NONE_MS - ageMs : varied(FRESH_MS - ageMs), asOf)
  }

  /** Somebody who makes up ids must not fill a store that never throws anything out. */
  function mayShare(key: CatalogKey, known: Known | undefined): boolean {
    if (shared === undefined || known !== undefined || key === LIST) return shared !== undefined
    if (clock.elapsed() - strangers.sinceMs >= 1_000) {
      strangers.sinceMs = clock.elapsed()
      strangers.count = 0
    }
    strangers.count += 1
    return strangers.count <= STRANGERS_PER_S
  }

  /** One sale, as the list had it when it was last read. */
  function listed(key: CatalogKey): Sales | undefined {
    const sale = memory.look(LIST)?.sales.find(one => one.id === key)
    return sale === undefined ? undefined : [sale]
  }

  function varied(ms: number): number {
    return ms * (1 - JITTER * random.next())
  }

  function invalidate(): void {
    memory.outdate()
    // Whoever comes now must not be given what was read before the change.
    flights.clear()
  }

  return {
    list: () => read(LIST),
    async find(id) {
      if (!isId(id) || madeAtMs(id) > nowMs() + YEAR_MS) {
        count('memory_none')
        return undefined
      }
      const [sale] = await read(id)
      return sale
    },
    invalidate,
    changed() {
      invalidate()
      void shared?.forget()
    },
    async warm() {
      const atMs = nowMs()
      const due = (await read(LIST)).filter(
        ({ state, opensAtMs, closesAtMs, warmBeforeMs }) =>
          state !== 'over' && opensAtMs - warmBeforeMs <= atMs && atMs < closesAtMs,
      )
      await Promise.all(due.map(sale => read(sale.id)))
    },
    share(layer) {
      shared = createSharedReader(layer, clock, random)
      layer.onForgotten(invalidate)
    },
  }
}

/** Known not to exist. A list without sales is a list. */
function isNone(key: CatalogKey, sales: Sales): boolean {
  return key !== LIST && sales.length === 0
}
