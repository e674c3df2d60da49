/**
 * An operator edits one item of a sale: fields that are not given stay as they are. In a published sale only what breaks no promise to a
 * buyer, and terms for later orders.
 */

import type { Item } from '../../domain/item.ts'
import { isSameMoney } from '../../domain/money.ts'
import type { FieldChange } from '../../ledger/sales.ts'
import { itemChanges } from './field-changes.ts'

type Fixed = 'name' | 'price' | 'units' | 'quantityMax' | 'attemptsMax' | 'payWithinMs' | 'whenGateDown' | 'homeDoor'
type Removable = 'sku' | 'image' | 'listPrice'

/** Of an existing item. Undefined: leave the field as it is; null: remove it. */
export type ItemEdit = { readonly [K in 'id' | 'shards' | Fixed]?: Item[K] | undefined } & {
  readonly [K in Removable]?: Item[K] | null
}

/** A field, and why it can't have this value. */
export interface FieldFault {
  readonly field: string
  readonly why: string
}

export type Refused =
  | ({ readonly kind: 'not_changeable' } & FieldFault)
  /** Invalid in any state of the sale. */
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

/** Fields that are not given stay; only `null` removes one. */
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

/** Rules between fields: a value that is valid alone may not fit a field that stayed. */
export function itemFault(was: Item, { price, listPrice, units }: Item, prefix: string): FieldFault | undefined {
  if (listPrice !== undefined && listPrice.currency !== price.currency)
    return { field: `${prefix}listPrice`, why: 'must be in the currency of the price' }
  const moved = price.amount !== was.price.amount || units !== was.units
  if (!moved || Number.isSafeInteger(price.amount * units)) return undefined
  return { field: `${prefix}units`, why: 'is too many at this price: the value of all units must be an exact number' }
}
