/**
 * Sales and items to read. Memory in front of the ledger: one list of the published sales, refreshed when it is older than `freshMs`
 * (one reader does it, the others wait for the same answer), and single look-ups for what the list does not hold, ids that don't exist
 * included. When the ledger is away, what is known goes on being served.
 * Bounded: `LISTED_MAX` sales in the list, `SINGLES_MAX` single answers.
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { SaleId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'

/** Where the catalog reads from. */
interface SaleSource {
  list(options: { readonly drafts: boolean; readonly limit: number }): Promise<readonly Sale[]>
  find(id: SaleId): Promise<Sale | undefined>
}

export interface Catalog {
  /** Published sales, latest opening first. */
  list(): Promise<readonly Sale[]>
  /** A published sale. */
  find(id: SaleId): Promise<Sale | undefined>
  /** Forget what is known: something was changed. */
  invalidate(): void
}

const LISTED_MAX = 200
const SINGLES_MAX = 10_000

interface Single {
  readonly sale: Promise<Sale | undefined>
  readonly atMs: number
}

export function createCatalog(source: SaleSource, clock: Clock, freshMs: number): Catalog {
  let known: readonly Sale[] = []
  let byId = new Map<SaleId, Sale>()
  let readAtMs = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  let version = 0
  const singles = new Map<SaleId, Single>()

  async function read(): Promise<void> {
    const asOf = version
    try {
      const sales = await source.list({ drafts: false, limit: LISTED_MAX })
      known = sales
      byId = new Map(sales.map(sale => [sale.id, sale]))
      // What was changed while we read may not be in it yet.
      if (asOf === version) readAtMs = clock.elapsed()
    } catch (error) {
      if (!(error instanceof Fault) || readAtMs === Number.NEGATIVE_INFINITY) throw error
      readAtMs = clock.elapsed()
    } finally {
      reading = undefined
    }
  }

  async function refresh(): Promise<void> {
    if (clock.elapsed() - readAtMs < freshMs) return
    reading ??= read()
    await reading
  }

  async function findSingle(id: SaleId): Promise<Sale | undefined> {
    const single = singles.get(id)
    if (single !== undefined && clock.elapsed() - single.atMs < freshMs) return single.sale
    const sale = source.find(id)
    singles.delete(id)
    singles.set(id, { sale, atMs: clock.elapsed() })
    if (singles.size > SINGLES_MAX) singles.delete(singles.keys().next().value!)
    try {
      return await sale
    } catch (error) {
      singles.delete(id)
      throw error
    }
  }

  return {
    async list() {
      await refresh()
      return known
    },
    async find(id) {
      await refresh()
      const sale = byId.get(id) ?? (await findSingle(id))
      return sale?.state === 'draft' ? undefined : sale
    },
    invalidate() {
      version += 1
      readAtMs = Math.min(readAtMs, clock.elapsed() - freshMs)
      singles.clear()
    },
  }
}
