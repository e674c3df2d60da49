/**
 * When a sale is over and finally reconciled, its items are removed from a gate outside the process. Nothing of a running sale ever is, and
 * nothing goes by time alone: the final report must be there, the outbox empty and no release open, before and after the gate is fenced.
 * Steps per item: raise the epoch (E3), fence, read again, forget, set the door to shut. Dying after any of them leaves keys or a draining
 * door; the next keeper does it again. Forgetting again changes nothing, so each process does it once per item.
 */

import { type Fault, onFault } from '../../base/fault.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate } from '../../gate/gate.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { Reconciliation } from '../../ledger/reconciliation.ts'
import { entriesOf } from './drain.ts'
import type { GateController } from './gate-controller.ts'
import type { KeepContext } from './keep-context.ts'
import { isOver } from './plan-item.ts'

interface ForgetContext extends Pick<KeepContext, 'rights' | 'sales' | 'log' | 'maySell'> {
  readonly gate: Pick<Gate, 'fence'>
  readonly outbox: Pick<Outbox, 'depth' | 'forget'>
  readonly reconciliation: Pick<Reconciliation, 'reports' | 'audit'>
  readonly keeper: Pick<GateController, 'alone'>
  /** A buyer may still ask for the order of a moment ago; the gate answers that cheaper than the ledger. */
  readonly afterMs: number
}

const SALES_MAX = 1_000
const REPORTS_MAX = 20

/** One round of it. */
export function createForgetSales(context: ForgetContext): () => Promise<void> {
  const { gate, outbox, rights, sales, reconciliation, log, maySell } = context
  const forgotten = new Set<ItemId>()

  async function forgetSettled(): Promise<void> {
    if (!maySell()) return
    const nowMs = await rights.now()
    const known = new Set<ItemId>()
    for (const sale of await sales.list({ drafts: false, limit: SALES_MAX })) {
      // A sale that is not over after all, by a clock that was set right, is in the gate again.
      if (isOver(sale, nowMs)) for (const item of sale.items) known.add(item.id)
      const left = sale.items.filter(item => item.epoch > 0 && item.homeDoor === 'gate' && !forgotten.has(item.id))
      if (left.length > 0 && isOver(sale, nowMs) && maySell() && (await settled(sale, nowMs)))
        for (const item of left) await context.keeper.alone(item.id, () => forget(sale.id, item.id))
    }
    for (const id of forgotten) if (!known.has(id)) forgotten.delete(id)
  }

  /** The final report is there, has lain for a while, and nothing has moved since. */
  async function settled(sale: Sale, nowMs: number): Promise<boolean> {
    const final = (await reconciliation.reports(sale.id, REPORTS_MAX)).find(report => report.final)
    if (final === undefined || nowMs - final.atMs < context.afterMs) return false
    for (const line of await reconciliation.audit(sale.id))
      if (line.releases > 0 || line.gone > 0 || line.pending > 0) return false
    return true
  }

  async function forget(sale: SaleId, id: ItemId): Promise<void> {
    // Read again: the list may be old by now.
    const item = (await sales.find(sale))?.items.find(one => one.id === id)
    if (item === undefined || (await entriesOf(outbox, [id])) > 0) return
    if (item.door === 'shut') {
      // It is not sold, and never will be: at most its keys are left.
      if (await outbox.forget(id)) forgotten.add(id)
      return
    }
    const epoch = await rights.raiseEpoch(id)
    const fenced = await gate.fence(id, epoch)
    if (fenced.status !== 'done' || !maySell()) return
    const now = await sales.find(sale)
    if (now === undefined || now.state === 'draft' || !isOver(now, await rights.now())) return
    // Behind the fence nothing can come any more; what came before it is waited for: forgetting is refused.
    if (!(await outbox.forget(id))) return
    if (!(await rights.setDoor(id, epoch, 'shut'))) return
    forgotten.add(id)
    log.info({ sale, item: id }, 'item removed from the gate: its sale is over and settled')
  }

  const warn = (fault: Fault) =>
    log.warn({ code: fault.code, err: fault }, 'settled sales not removed from the gate; the next round tries again')
  return () => onFault(forgetSettled, warn)
}
