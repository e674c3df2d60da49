/** How a process starts, knows that it is ready, and ends: what `compose-local.ts` and `compose-shared.ts` each offer. */

import { Fault } from '../base/fault.ts'
import type { ItemId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'
import { demoSale } from '../flows/operate/create-sale.ts'
import type { KeeperWork } from './rounds.ts'
import type { ProcessParts } from './selling.ts'

/** Longest time since the ledger last answered before traffic should go elsewhere. */
export const LEDGER_SILENT_MS_MAX = 5_000

/** Printed on the way. */
export interface StartReport {
  /** Another process does what this one would do; `why` ends the sentence. */
  standby(why: string): void
  demo(sale: Sale): void
}

export interface Runner {
  /** What keeps this process from taking traffic. */
  missing(): readonly string[]
  /** Resolves when it takes traffic (true), or when `stopping` aborts first (false). */
  start(work: KeeperWork, report: StartReport, stopping: AbortSignal): Promise<boolean>
  /** Resolves or rejects when something has ended that the process can't be without. */
  ended(): Promise<unknown>
  /** Has the item's gate built anew: done when this resolves, or begun. */
  rebuild(item: ItemId): Promise<'rebuilt' | 'rebuilding'>
  /** After the last answer: everything that is held goes where it belongs. */
  stop(): Promise<void>
}

/** A ledger that does not answer just then costs the demo, not the start. */
export async function startDemo(
  { config, ledger, node, clock, log }: ProcessParts,
  report: StartReport,
): Promise<void> {
  if (!config.demo) return
  try {
    const sale = await demoSale({ sales: ledger.sales, ids: node.ids, clock })
    if (sale !== undefined) report.demo(sale)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    log.warn({ code: error.code, err: error }, 'no demo sale: the ledger did not answer')
  }
}
