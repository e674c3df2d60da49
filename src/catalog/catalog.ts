/**
 * Published sales, to read: from this process's memory, then from the cache that all processes share (in a cluster), then from the
 * ledger. One reader per key and process goes, the others wait for its answer; of several processes one goes to the ledger.
 *
 * A change is seen by a process when its message arrives, and within `FRESH_MS` if the message is lost: no copy is served for longer,
 * counted from before the ledger was asked. Lifetimes vary a little, so that processes that started together do not read together.
 * Ids that don't exist are remembered for `MISSING_MS`; ids from the far future are not looked up at all.
 *
 * While the ledger is unreachable, known copies are served, however old. While it is slow, an expired copy is served after `SLOW_MS`, and
 * a changed one is waited for. While the shared cache is unreachable, each process reads for itself.
 * Bounded: copies in memory (`memory-cache.ts`); `READS_MAX` reads under way, then known copies or a fault; `NEW_IDS_PER_S` ids that this
 * process does not know go to the shared cache, so that made-up ids can't fill it.
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Counted } from '../base/meters.ts'
import type { Random } from '../base/random.ts'
import { createSharedTimeout } from '../base/shared-timeout.ts'
import { madeAtMs } from '../base/snowflake.ts'
import { isId, type SaleId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'
import { type Known, MemoryCache } from './memory-cache.ts'
import { type CatalogKey, LIST, LISTED_MAX, type Sales, type SharedCache } from './shared-cache.ts'
import { createSharedCacheClient, type SharedCacheClient } from './shared-cache-client.ts'

interface CatalogPorts {
  readonly source: {
    list(options: { readonly drafts: boolean; readonly limit: number }): Promise<Sales>
    find(id: SaleId): Promise<Sale | undefined>
  }
  readonly clock: Clock
  readonly random: Random
  /** Unix ms, by the clock that judges sale windows. */
  readonly nowMs: () => number
  readonly count: (which: Counted['catalog_reads'][number]) => void
}

/** A read under way. */
interface Reading {
  readonly sales: Promise<Sales>
  /** The same, or undefined after `SLOW_MS`. */
  readonly inTime: Promise<Sales | undefined>
}

const FRESH_MS = 750
/** A shared copy is served for this part of `FRESH_MS`; the rest is its time in memory. */
const SHARED_FRESH_MS = 500
/** Not varied: an id is looked up once a second, and is found within a second after it was made. */
const MISSING_MS = 1_000
/** The shared cache keeps expired copies so long, for processes that find the ledger unreachable. */
const KEPT_MS = 3_600_000
const JITTER = 0.2
const SLOW_MS = 500
const READS_MAX = 1_000
const NEW_IDS_PER_S = 200
/** No clock that makes ids is wrong by more. */
const YEAR_MS = 366 * 24 * 3_600_000

export class Catalog {
  readonly #ports: CatalogPorts
  readonly #memory: MemoryCache
  readonly #timeout: ReturnType<typeof createSharedTimeout>
  readonly #readings = new Map<CatalogKey, Reading>()
  /** Includes readings that `invalidate` took out of `#readings`. */
  #underway = 0
  #newIds = { sinceMs: Number.NEGATIVE_INFINITY, count: 0 }
  #shared: SharedCacheClient | undefined

  constructor(ports: CatalogPorts) {
    this.#ports = ports
    this.#memory = new MemoryCache(ports.clock)
    this.#timeout = createSharedTimeout({ clock: ports.clock, ms: SLOW_MS })
  }

  /** Published sales, latest opening first. */
  list(): Promise<Sales> {
    return this.#read(LIST)
  }

  /** A published sale. */
  async find(id: SaleId): Promise<Sale | undefined> {
    if (!isId(id) || madeAtMs(id) > this.#ports.nowMs() + YEAR_MS) {
      this.#ports.count('memory_none')
      return undefined
    }
    const [sale] = await this.#read(id)
    return sale
  }

  /** Is there a copy of this sale here, however old? */
  knows(id: SaleId): boolean {
    return (this.#memory.get(id)?.sales.length ?? 0) > 0
  }

  /** Another process changed a sale: what is known here is out of date. */
  invalidate(): void {
    this.#memory.outdate()
    // A caller from now on must not get what was read before the change.
    this.#readings.clear()
  }

  /** This process changed a sale: what is known is out of date, here and in all other processes. */
  changed(): void {
    this.invalidate()
    void this.#shared?.changed()
  }

  /** Reads the sales that are warm or open, so that the shared cache has them before the crowd comes. */
  async warm(): Promise<void> {
    const atMs = this.#ports.nowMs()
    const due = (await this.#read(LIST)).filter(
      ({ state, opensAtMs, closesAtMs, warmBeforeMs }) =>
        state !== 'over' && opensAtMs - warmBeforeMs <= atMs && atMs < closesAtMs,
    )
    await Promise.all(due.map(sale => this.#read(sale.id)))
  }

  /** Uses this shared cache from now on. */
  share(cache: SharedCache): void {
    this.#shared = createSharedCacheClient(cache, this.#ports.clock, this.#ports.random)
    cache.onForgotten(() => this.invalidate())
  }

  async #read(key: CatalogKey): Promise<Sales> {
    const known = this.#memory.get(key)
    if (known?.state === 'fresh') {
      this.#ports.count(isMissing(key, known.sales) ? 'memory_none' : 'memory_hit')
      return known.sales
    }
    this.#ports.count('memory_miss')
    const reading = this.#readings.get(key) ?? this.#begin(key, known)
    if (reading === undefined) {
      if (known !== undefined) return known.sales
      throw new Fault('catalog_busy', `${this.#underway} look-ups are under way already`, { retryable: true })
    }
    if (known?.state !== 'expired') return reading.sales
    return (await reading.inTime) ?? known.sales
  }

  #begin(key: CatalogKey, known: Known | undefined): Reading | undefined {
    if (this.#underway >= READS_MAX) return undefined
    this.#underway += 1
    const sales = this.#lookUp(key, known).finally(() => {
      this.#underway -= 1
      if (this.#readings.get(key) === reading) this.#readings.delete(key)
    })
    const reading = { sales, inTime: this.#timeout(sales) }
    // A failure is for the callers that wait; there may be none that wait in time.
    reading.inTime.catch(() => {})
    this.#readings.set(key, reading)
    return reading
  }

  async #lookUp(key: CatalogKey, known: Known | undefined): Promise<Sales> {
    const { count, clock } = this.#ports
    const changeNo = this.#memory.changeNo
    const copy = this.#mayShare(key, known) ? await this.#shared?.read(key) : undefined
    if (copy?.kind === 'known') {
      count(isMissing(key, copy.sales) ? 'redis_none' : 'redis_hit')
      this.#remember(key, copy.sales, copy.ageMs, changeNo)
      return copy.sales
    }
    if (this.#shared !== undefined) count('redis_miss')
    const sentAtMs = clock.elapsed()
    const lease = copy?.kind === 'leased' ? copy.lease : undefined
    try {
      const sales = await this.#readLedger(key)
      const missing = isMissing(key, sales)
      count(missing ? 'ledger_none' : 'ledger_hit')
      this.#remember(key, sales, clock.elapsed() - sentAtMs, changeNo)
      if (lease !== undefined) {
        const [freshMs, keepMs] = missing
          ? [MISSING_MS, MISSING_MS]
          : [this.#vary(SHARED_FRESH_MS), this.#vary(KEPT_MS)]
        await this.#shared?.call(cache => cache.put(key, lease, sales, freshMs, keepMs))
      }
      return sales
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      count('ledger_miss')
      if (lease !== undefined) await this.#shared?.call(cache => cache.returnLease(key, lease))
      const listed = this.#memory.get(LIST)?.sales.filter(sale => sale.id === key) ?? []
      const old = this.#memory.get(key)?.sales ?? copy?.old ?? (listed.length > 0 ? listed : undefined)
      if (old === undefined) throw error
      // The ledger is unreachable: without this, every request would ask it again.
      this.#memory.put(key, old, FRESH_MS, this.#memory.changeNo)
      return old
    }
  }

  async #readLedger(key: CatalogKey): Promise<Sales> {
    const { source } = this.#ports
    if (key === LIST) return source.list({ drafts: false, limit: LISTED_MAX })
    const sale = await source.find(key)
    return sale === undefined || sale.state === 'draft' ? [] : [sale]
  }

  #remember(key: CatalogKey, sales: Sales, ageMs: number, changeNo: number): void {
    const freshMs = isMissing(key, sales) ? MISSING_MS - ageMs : this.#vary(FRESH_MS - ageMs)
    this.#memory.put(key, sales, freshMs, changeNo)
  }

  /** May this key use the shared cache? Its Redis evicts nothing, so the number of new ids per second is bounded. */
  #mayShare(key: CatalogKey, known: Known | undefined): boolean {
    if (this.#shared === undefined) return false
    if (known !== undefined || key === LIST) return true
    const nowMs = this.#ports.clock.elapsed()
    if (nowMs - this.#newIds.sinceMs >= 1_000) this.#newIds = { sinceMs: nowMs, count: 0 }
    this.#newIds.count += 1
    return this.#newIds.count <= NEW_IDS_PER_S
  }

  #vary(ms: number): number {
    return ms * (1 - JITTER * this.#ports.random.next())
  }
}

/** Known not to exist. A list without sales is a list. */
function isMissing(key: CatalogKey, sales: Sales): boolean {
  return key !== LIST && sales.length === 0
}
