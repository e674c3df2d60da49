/**
 * When a sale is over and finally reconciled, its items are removed from a gate outside the process. Nothing of a running sale ever is, and
 * nothing goes by time alone: the final report must be there, the outbox empty and no release open, before and after the gate is fenced.
 * Steps per item: raise the epoch (E3), fence, read again, forget, mark as forgotten and shut the door. Dying after any of them leaves keys
 * or a draining door; the next keeper does it again, and forgetting again changes nothing.
 *
 * A round takes one page of what the ledger has not marked; the next round goes on behind it. What can't be forgotten now (an entry waits, the
 * gate is away) keeps nothing else from its turn.
 */

import { eachOf } from '../../base/each-of.ts'
import { type Fault, onFault } from '../../base/fault.ts'
import { createRotation } from '../../base/rotation.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
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
  readonly reconciliation: Pick<Reconciliation, 'toForget' | 'audit'>
  readonly keeper: Pick<GateController, 'alone'>
  /** A buyer may still ask for the order of a moment ago; the gate answers that cheaper than the ledger. */
  readonly afterMs: number
}

const ITEMS_MAX = 200
const SALES_AT_ONCE_MAX = 4

/** One round of it. */
export function createForgetSales(context: ForgetContext): () => Promise<void> {
  const { gate, outbox, rights, sales, reconciliation, log, maySell } = context
  const next = createRotation(
    ITEMS_MAX,
    (after, max) => reconciliation.toForget(after, context.afterMs, max),
    ({ id }) => id,
  )

  async function forgetSettled(): Promise<void> {
    if (!maySell()) return
    const { page } = await next()
    const bySale = [...Map.groupBy(page, ({ sale }) => sale)]
    await eachOf(bySale, SALES_AT_ONCE_MAX, async ([sale, items]) => {
      if (!maySell() || !(await isQuiet(sale))) return
      for (const { id } of items) await context.keeper.alone(id, () => forget(sale, id))
    })
  }

  /** Nothing has moved since the final report. */
  async function isQuiet(sale: SaleId): Promise<boolean> {
    const lines = await reconciliation.audit(sale)
    return lines.every(({ releases, gone, pending }) => releases === 0 && gone === 0 && pending === 0)
  }

  async function forget(sale: SaleId, id: ItemId): Promise<void> {
    // Read again: the list may be old by now.
    const item = (await sales.find(sale))?.items.find(one => one.id === id)
    if (item === undefined || (await entriesOf(outbox, [id])) > 0) return
    if (item.door === 'shut') {
      // It is not sold, and never will be: at most its keys are left.
      if (await outbox.forget(id)) await rights.setForgotten(id, item.epoch)
      return
    }
    const epoch = await rights.raiseEpoch(id)
    const fenced = await gate.fence(id, epoch)
    if (fenced.status !== 'done' || !maySell()) return
    const now = await sales.find(sale)
    if (now === undefined || now.state === 'draft' || !isOver(now, await rights.now())) return
    // Behind the fence nothing can come any more; what came before it is waited for: forgetting is refused.
    if (!(await outbox.forget(id))) return
    if (await rights.setForgotten(id, epoch))
      log.info({ event: 'item_forgotten', sale, item: id }, 'item removed from the gate: its sale is over and settled')
  }

  const warn = (fault: Fault) =>
    log.warn(
      { event: 'items_not_forgotten', code: fault.code, err: fault },
      'settled sales not removed from the gate; the next round tries again',
    )
  return () => onFault(forgetSettled, warn)
}
