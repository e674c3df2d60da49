/**
 * One item of a sale is changed: what is not said of it stays. Of a published one only what breaks no word already given, and terms that
 * only later orders see.
 */

import type { ItemId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import { isSameMoney, type Money } from '../../domain/money.ts'
import type { FieldChange } from '../../ledger/sales.ts'
import { itemChanges } from './field-changes.ts'

/** Of an item that is there. Undefined: leave it as it is; null: without one from now on. */
export interface ItemEdit {
  readonly id?: ItemId | undefined
  readonly name?: string | undefined
  readonly sku?: string | null | undefined
  readonly image?: string | null | undefined
  readonly price?: Money | undefined
  readonly listPrice?: Money | null | undefined
  readonly units?: number | undefined
  readonly quantityMax?: number | undefined
  readonly attemptsMax?: number | undefined
  readonly payWithinMs?: number | undefined
  readonly whenGateDown?: 'ledger' | 'shut' | undefined
  readonly homeDoor?: 'gate' | 'ledger' | undefined
  readonly shards?: number | undefined
}

/** A field, and why it can't be so. */
export interface FieldFault {
  readonly field: string
  readonly why: string
}

export type Refused =
  | ({ readonly kind: 'not_changeable' } & FieldFault)
  /** Can't be so in any state. */
  | ({ readonly kind: 'invalid' } & FieldFault)

export function amendPublished(
  item: Item,
  wish: ItemEdit,
  prefix: string,
): { readonly item: Item; readonly changes: readonly FieldChange[] } | Refused {
  const fixed = ['units', 'quantityMax', 'attemptsMax', 'shards'] as const
  const moved =
    fixed.find(field => wish[field] !== undefined && wish[field] !== item[field]) ??
    (wish.price !== undefined && !isSameMoney(wish.price, item.price) ? 'price' : undefined) ??
    (wish.homeDoor !== undefined && wish.homeDoor !== item.homeDoor ? 'door' : undefined)
  if (moved !== undefined) {
    const why = moved === 'units' ? 'are changed through the stock call once published' : 'is fixed once published'
    return { kind: 'not_changeable', field: `${prefix}${moved}`, why }
  }
  const next = amended(item, wish)
  const fault = itemFault(item, next, prefix)
  return fault === undefined ? { item: next, changes: itemChanges(item, next, prefix) } : { kind: 'invalid', ...fault }
}

/** What is not said stays; only `null` takes away. */
export function amended(item: Item, wish: ItemEdit): Item {
  return {
    ...item,
    name: wish.name ?? item.name,
    sku: wish.sku === undefined ? item.sku : (wish.sku ?? undefined),
    image: wish.image === undefined ? item.image : (wish.image ?? undefined),
    price: wish.price ?? item.price,
    listPrice: wish.listPrice === undefined ? item.listPrice : (wish.listPrice ?? undefined),
    units: wish.units ?? item.units,
    quantityMax: wish.quantityMax ?? item.quantityMax,
    attemptsMax: wish.attemptsMax ?? item.attemptsMax,
    payWithinMs: wish.payWithinMs ?? item.payWithinMs,
    whenGateDown: wish.whenGateDown ?? item.whenGateDown,
    homeDoor: wish.homeDoor ?? item.homeDoor,
    shards: wish.shards ?? item.shards,
  }
}

/** What one field says of another: each may have been good alone, next to what stayed it need not be. */
export function itemFault(was: Item, { price, listPrice, units }: Item, prefix: string): FieldFault | undefined {
  if (listPrice !== undefined && listPrice.currency !== price.currency)
    return { field: `${prefix}listPrice`, why: 'must be in the currency of the price' }
  const moved = price.amount !== was.price.amount || units !== was.units
  if (moved && !Number.isSafeInteger(price.amount * units))
    return {
      field: `${prefix}units`,
      why: 'is too many at this price: what all of them come to must be an exact number',
    }
  return undefined
}
