/** A draft goes public. If its warm-up has begun by then, it is on sale in the gate before the operator hears "done". */

import type { SaleId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'
import type { Sales } from '../ledger/sales.ts'
import type { Keeper } from './warm-sale.ts'

type PublishOutcome =
  | { readonly kind: 'published'; readonly sale: Sale }
  | { readonly kind: 'missing' }
  | { readonly kind: 'over' }

export async function publishSale(
  parts: { readonly sales: Sales; readonly keeper: Pick<Keeper, 'round'>; readonly changed: () => void },
  id: SaleId,
): Promise<PublishOutcome> {
  const before = await parts.sales.find(id)
  if (before === undefined) return { kind: 'missing' }
  // Publishing again is no mistake: the answer to the first may have been lost.
  await parts.sales.move(id, ['draft'], 'ready')
  parts.changed()
  await parts.keeper.round()
  const sale = await parts.sales.find(id)
  if (sale === undefined) return { kind: 'missing' }
  return sale.state === 'over' ? { kind: 'over' } : { kind: 'published', sale }
}
