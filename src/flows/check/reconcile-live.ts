/**
 * Automatic reconciliation: in every round the sales whose orders have changed since their last one, and a few of the others, in turn. A sale
 * where nothing happens is not read again and again: its audit costs the ledger a look at every item. What differs though no order has changed (a foreign write
 * to the gate) is found in its turn.
 *
 * One sale that can't be reconciled, because its gate is away or by a bug, does not keep the others from it, and is tried again in the next round.
 */

import { Fault } from '../../base/fault.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Messages } from '../follow/messages.ts'
import type { CheckContext } from './check-context.ts'
import { reconcileSale } from './reconcile.ts'

/** Of the sales where nothing has happened. */
const SALES_A_ROUND = 8

export function createLiveReconciler(check: CheckContext, messages: Pick<Messages, 'listen'>) {
  /** Their orders have changed since they were last reconciled. */
  const changed = new Set<SaleId>()
  /** Of the others, those whose turn is still to come. */
  let rest: SaleId[] = []
  /** Messages may have been missed, also those from before the start. */
  let all = true

  messages.listen({
    orderChanged: ({ sale }) => void changed.add(sale),
    saleChanged: ({ id }) => void changed.add(id),
    missed() {
      all = true
    },
  })

  function choose(live: ReadonlyMap<SaleId, Sale>): readonly Sale[] {
    if (all) for (const id of live.keys()) changed.add(id)
    all = false
    for (const id of changed) if (!live.has(id)) changed.delete(id)
    const chosen = new Set(changed)
    if (rest.length === 0) rest = [...live.keys()].reverse()
    for (const id of rest.splice(-SALES_A_ROUND, SALES_A_ROUND)) if (live.has(id)) chosen.add(id)
    return [...chosen].map(id => live.get(id)!)
  }

  /** One round. */
  return async (): Promise<void> => {
    const live = new Map([...check.registry.values()].map(({ sale }) => [sale.id, sale]))
    const failed: unknown[] = []
    for (const sale of choose(live)) {
      // Before it is read: what changes meanwhile is compared again.
      changed.delete(sale.id)
      try {
        await check.reconciliation.save(sale.id, 'automatic', await reconcileSale(check, sale))
      } catch (error) {
        changed.add(sale.id)
        failed.push(error)
      }
    }
    // A bug is the one to know of.
    if (failed.length > 0) throw failed.find(error => !(error instanceof Fault)) ?? failed[0]
  }
}
