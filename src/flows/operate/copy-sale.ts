/**
 * An operator copies a sale: a new draft with everything that the other one was set to, in a window of its own. The times of its line
 * move with the opening; a named round of a beacon does not, because it is a moment of its own, so the copy takes the next one.
 *
 * A template is a draft that is kept to be copied and can't be published. It is one term of the sale and needs no table
 * (docs/decisions/0037-templates-are-drafts.md). Does not copy orders, changes of stock or who is in line.
 */

import type { SaleId } from '../../domain/ids.ts'
import type { LineTerms } from '../../domain/line.ts'
import type { Sale } from '../../domain/sale.ts'
import type { FieldFault } from './amend-item.ts'
import { createSale, type NewSale } from './create-sale.ts'
import type { OperateContext } from './operate-context.ts'

interface CopyWish {
  /** Undefined: that of the sale. */
  readonly name: string | undefined
  /** Undefined: the opening of the sale. */
  readonly opensAtMs: number | undefined
  /** Undefined: it lasts as long as the sale. */
  readonly closesAtMs: number | undefined
  readonly template: boolean
}

type CopySaleOutcome =
  | { readonly kind: 'done'; readonly sale: Sale }
  | { readonly kind: 'missing' }
  | ({ readonly kind: 'invalid' } & FieldFault)

/** The same id for the copy again returns the copy that was made with it. */
export async function copySale(
  context: Pick<OperateContext, 'sales' | 'ids'>,
  from: SaleId,
  wish: CopyWish,
  copy: SaleId,
  by: string,
): Promise<CopySaleOutcome> {
  const sale = await context.sales.find(from)
  if (sale === undefined) return { kind: 'missing' }
  const fresh = copyOf(sale, wish)
  if (fresh.opensAtMs >= fresh.closesAtMs)
    return { kind: 'invalid', field: 'closesAt', why: 'must be later than opensAt' }
  return { kind: 'done', sale: await createSale(context, fresh, copy, by) }
}

function copyOf({ id: _, state: __, stateNo: ___, ...sale }: Sale, wish: CopyWish): NewSale {
  const opensAtMs = wish.opensAtMs ?? sale.opensAtMs
  const closesAtMs = wish.closesAtMs ?? sale.closesAtMs + (opensAtMs - sale.opensAtMs)
  return {
    ...sale,
    name: wish.name ?? sale.name,
    // With another name, these would still say the old one.
    texts: wish.name === undefined || wish.name === sale.name ? sale.texts : undefined,
    opensAtMs,
    closesAtMs,
    line: sale.line && movedLine(sale.line, opensAtMs - sale.opensAtMs),
    template: wish.template ? true : undefined,
  }
}

function movedLine({ beacon, ...line }: LineTerms, byMs: number): LineTerms {
  return {
    ...line,
    opensAtMs: line.opensAtMs + byMs,
    sealsAtMs: line.sealsAtMs === undefined ? undefined : line.sealsAtMs + byMs,
    beacon: beacon && { source: beacon.source },
  }
}
