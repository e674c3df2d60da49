/**
 * Keeps the pre-rendered pages up to date: the page of every published sale, the front page, and the files they need. The leader does it, in
 * rounds. A round asks the ledger whether a sale was changed since the last one, which costs the same however many sales there are; only then the
 * sales are read, and only pages that have become others are written. Now and then everything is read and compared with what is in the store, so
 * a change that was missed, a page that was lost or replaced, and a page whose sale was taken back are found.
 *
 * Every step may be repeated: a process that dies in between leaves old pages or new ones, and the next leader compares all of them. Two leaders
 * at once may write a page twice; what the older one wrote last is found by the next comparison.
 *
 * After files have changed each notice (an upload command, a CDN's purge) is given them until it has taken them; a notice that fails is tried
 * again with growing waits, and neither stops the writing nor the other notices. Nothing here is needed to sell.
 *
 * Bounded: `PAGES_MAX` pages, those with the latest openings; `WRITES_MAX` writes a round; a notice keeps one change for each path.
 */

import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Meters } from '../../base/meters.ts'
import type { SaleId } from '../../domain/ids.ts'
import { isListed, type Sale } from '../../domain/sale.ts'
import type { Sales } from '../../ledger/sales.ts'
import { INDEX_PATH, type PageStore, type StaticFile, saleOfPath, salePath } from '../../pages/page-store.ts'
import type { PageNotices, PageTrouble } from './page-notices.ts'

/** Turns sales into files. The same sale gives the same bytes. */
export interface PageWriter {
  /** The files that all pages need; they never change under their name. */
  assets(): readonly StaticFile[]
  sale(sale: Sale): StaticFile
  index(sales: readonly Sale[]): StaticFile
}

interface PublisherContext {
  readonly sales: Pick<Sales, 'list'>
  readonly saleChanges: {
    since(mark: string | undefined): Promise<{ readonly mark: string; readonly changed: boolean }>
  }
  readonly store: PageStore
  readonly notices: PageNotices
  /** Made when it is first needed. */
  readonly writer: () => Promise<PageWriter>
  readonly clock: Clock
  readonly meters: Meters
}

interface Wanted {
  readonly hash: string
  readonly make: () => StaticFile
}

const PAGES_MAX = 1_000
/** Current sales on the front page. */
const INDEX_SALES_MAX = 20
const WRITES_MAX = 50
const COMPARE_EVERY_MS = 60_000
/** A leader's rounds follow each other sooner. */
const PAUSE_MS_MAX = 5_000

export class PagePublisher {
  readonly #context: PublisherContext
  readonly #wanted = new Map<string, Wanted>()
  /** What this process has put, or found as it should be. */
  readonly #stored = new Map<string, { readonly hash: string; readonly tag: string }>()
  /** To be put or removed; those that others need first. */
  readonly #due = new Set<string>()
  /** The sales as they were last read, as text: an equal one is not rendered. */
  #seen: ReadonlyMap<SaleId, string> = new Map()
  #mark: string | undefined
  #comparedMs = Number.NEGATIVE_INFINITY
  #roundMs = Number.NEGATIVE_INFINITY
  #trouble: PageTrouble | undefined

  constructor(context: PublisherContext) {
    this.#context = context
  }

  /** True when there is more to do at once. A store that fails is a fault; the next round goes on. */
  async round(): Promise<boolean> {
    const { clock, notices, meters } = this.#context
    // Another process may have led meanwhile: what is known here counts no longer.
    if (clock.elapsed() - this.#roundMs > PAUSE_MS_MAX) this.#comparedMs = Number.NEGATIVE_INFINITY
    this.#roundMs = clock.elapsed()
    try {
      const { mark, changed } = await this.#context.saleChanges.since(this.#mark)
      const compares = clock.elapsed() - this.#comparedMs >= COMPARE_EVERY_MS
      if (changed || compares) await this.#readSales()
      this.#mark = mark
      if (compares) {
        await this.#compare()
        this.#comparedMs = clock.elapsed()
      }
      await this.#write()
      this.#trouble = undefined
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      meters.count('pages', 'failed')
      this.#trouble = { which: 'store', sinceMs: this.#trouble?.sinceMs ?? clock.now(), words: error.message }
      throw error
    } finally {
      await notices.round()
    }
    return this.#due.size > 0
  }

  troubles(): readonly PageTrouble[] {
    return [...(this.#trouble === undefined ? [] : [this.#trouble]), ...this.#context.notices.troubles()]
  }

  async #readSales(): Promise<void> {
    const writer = await this.#context.writer()
    const sales = await this.#context.sales.list({ drafts: false, limit: PAGES_MAX, descriptions: true })
    for (const file of writer.assets()) if (!this.#wanted.has(file.path)) this.#want(file.path, file)
    const seen = new Map<SaleId, string>()
    for (const sale of sales) {
      const text = textOf(sale)
      seen.set(sale.id, text)
      if (this.#seen.get(sale.id) === text) continue
      this.#want(salePath(sale.id), writer.sale(sale), () => writer.sale(sale))
    }
    for (const path of [...this.#wanted.keys()]) {
      const sale = saleOfPath(path)
      if (sale === undefined || seen.has(sale)) continue
      this.#wanted.delete(path)
      this.#due.add(path)
    }
    this.#seen = seen
    const nowMs = this.#context.clock.now()
    const shown = sales
      .filter(sale => isListed(sale) && sale.state !== 'over' && nowMs < sale.closesAtMs)
      .slice(-INDEX_SALES_MAX)
    this.#want(INDEX_PATH, writer.index(shown), () => writer.index(shown))
  }

  #want(path: string, file: StaticFile, make = () => file): void {
    const hash = hashOf(file)
    this.#wanted.set(path, { hash, make })
    if (this.#stored.get(path)?.hash !== hash) this.#due.add(path)
  }

  /** What is in the store is not what was put there, or there is too much of it: that is due. */
  async #compare(): Promise<void> {
    const { store, notices } = this.#context
    // Whether the notices of the process before were sent is not known.
    const isFirst = this.#comparedMs === Number.NEGATIVE_INFINITY
    const listed = await store.list()
    for (const [path, { hash, make }] of this.#wanted) {
      const tag = listed.get(path)
      const stored = this.#stored.get(path)
      const expected = stored?.hash === hash && !isFirst ? stored.tag : store.tagOf(make().bytes)
      if (tag === expected) {
        this.#stored.set(path, { hash, tag })
        this.#due.delete(path)
        if (isFirst) notices.add({ path, what: 'put' })
      } else {
        this.#stored.delete(path)
        this.#due.add(path)
      }
    }
    // Older files that pages need stay: a buyer may have an old page open.
    for (const path of listed.keys()) if (saleOfPath(path) !== undefined && !this.#wanted.has(path)) this.#due.add(path)
  }

  async #write(): Promise<void> {
    const { store, notices, meters } = this.#context
    for (const path of [...this.#due].sort(byNeed).slice(0, WRITES_MAX)) {
      const wanted = this.#wanted.get(path)
      await faultPoint('pages.before')
      if (wanted === undefined) {
        await store.remove(path)
        this.#stored.delete(path)
        meters.count('pages', 'removed')
      } else {
        const tag = await store.put(wanted.make())
        this.#stored.set(path, { hash: wanted.hash, tag })
        await faultPoint('pages.put')
        meters.count('pages', 'put')
      }
      this.#due.delete(path)
      notices.add({ path, what: wanted === undefined ? 'removed' : 'put' })
    }
  }
}

/** Files first, then the pages that name them, the front page last. */
function byNeed(a: string, b: string): number {
  const rank = (path: string) => (path === INDEX_PATH ? 2 : saleOfPath(path) === undefined ? 0 : 1)
  return rank(a) - rank(b)
}

function hashOf({ bytes, contentType, cacheControl }: StaticFile): string {
  return createHash('sha256').update(contentType).update(cacheControl).update(bytes).digest('hex')
}

/** Without what changes with every order and every rebuild. */
function textOf(sale: Sale): string {
  return JSON.stringify(sale, (key, value) => (VOLATILE.has(key) ? undefined : value))
}

const VOLATILE = new Set(['available', 'epoch', 'gateEpoch', 'door', 'changeNo', 'gateShards', 'stateNo'])
