/** What the tests of the catalog share: a sale, a ledger that counts who asks it and can be held up, and counts of what was read where. */

import { systemClock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Sale } from '../domain/sale.ts'
import { LIST } from './shared-cache.ts'

export const SALE = '4711'

export function makeSale(id: string, wish: Partial<Sale> = {}): Sale {
  const nowMs = systemClock.now()
  return {
    id,
    name: `sale ${id}`,
    opensAtMs: nowMs - 60_000,
    closesAtMs: nowMs + 3_600_000,
    warmBeforeMs: 1_800_000,
    ticketsBeforeMs: undefined,
    challenge: undefined,
    state: 'ready',
    stateNo: 1,
    rule: 'first_come',
    items: [
      {
        id: `${id}1`,
        sale: id,
        sku: undefined,
        name: 'item',
        image: undefined,
        price: { amount: 1_000, currency: 'CNY' },
        listPrice: { amount: 2_000, currency: 'CNY' },
        units: 10,
        available: 10,
        quantityMax: 1,
        attemptsMax: 3,
        payWithinMs: 900_000,
        whenGateDown: 'ledger',
        homeDoor: 'gate',
        shards: 1,
        door: 'gate',
        epoch: 1,
        gateEpoch: 1,
        gateShards: 1,
        changeNo: 0,
      },
    ],
    ...wish,
  }
}

/** A ledger of sales. Reads what it has when it is asked, and answers when it is let. */
export function countingLedger(...sales: Sale[]) {
  const rows = new Map(sales.map(sale => [sale.id, sale]))
  /** When, and for what. */
  const asked: { readonly key: string; readonly atMs: number }[] = []
  const ledger = {
    rows,
    asked,
    away: false,
    /** Whoever asks now waits for it before the answer is on its way. */
    held: undefined as Promise<void> | undefined,
    async read<T>(key: string, rowsNow: T): Promise<T> {
      asked.push({ key, atMs: systemClock.elapsed() })
      await ledger.held
      if (ledger.away) throw new Fault('ledger_away', 'the ledger does not answer', { retryable: true })
      return rowsNow
    },
    find: (id: string) => ledger.read(id, rows.get(id)),
    list: ({ limit }: { limit: number }) =>
      ledger.read(LIST, [...rows.values()].filter(sale => sale.state !== 'draft').slice(0, limit)),
  }
  return ledger
}

/** How often each answer was counted. */
export function countingReads() {
  const reads: Record<string, number> = {}
  const count = (which: string) => {
    reads[which] = (reads[which] ?? 0) + 1
  }
  return { reads, count }
}
