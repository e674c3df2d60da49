/**
 * An operator edits one item of a sale: fields that are not given stay as they are. In a published sale only what breaks no promise to a
 * buyer, and terms for later orders. The fields that an edit changes are listed for the journal, by their names in the API.
 */

import { toRfc3339 } from '../../base/clock.ts'
import type { HoldLimits } from '../../domain/hold-limits.ts'
import type { Item } from '../../domain/item.ts'
import { isPayable, isSameMoney, NOT_PAYABLE } from '../../domain/money.ts'
import type { Sale } from '../../domain/sale.ts'
import { textsLine } from '../../domain/texts.ts'
import type { FieldChange } from '../../ledger/sales.ts'

type Fixed = 'name' | 'price' | 'units' | 'quantityMax' | 'attemptsMax' | 'payWithinMs' | 'whenGateDown' | 'homeDoor'
type Removable = 'sku' | 'image' | 'description' | 'texts' | 'listPrice'

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
export function amended<T extends object>(was: T, wish: { readonly [K in keyof T]?: T[K] | null | undefined }): T {
  const given = Object.entries(wish).filter(([, value]) => value !== undefined)
  return { ...was, ...Object.fromEntries(given.map(([field, value]) => [field, value ?? undefined])) }
}

/** Rules between fields: a value that is valid alone may not fit a field that stayed. */
export function itemFault(was: Item, item: Item, prefix: string): FieldFault | undefined {
  const { price, listPrice, units, quantityMax } = item
  if (listPrice !== undefined && listPrice.currency !== price.currency)
    return { field: `${prefix}listPrice`, why: 'must be in the currency of the price' }
  const repriced = price.amount !== was.price.amount
  if ((repriced || quantityMax !== was.quantityMax) && !isPayable(price, quantityMax))
    return { field: `${prefix}quantityMax`, why: NOT_PAYABLE }
  if (!(repriced || units !== was.units) || Number.isSafeInteger(price.amount * units)) return undefined
  return { field: `${prefix}units`, why: 'is too many at this price: the value of all units must be an exact number' }
}

export function itemChanges(from: Item, to: Item, prefix: string): FieldChange[] {
  return compare(prefix, [
    ['name', from.name, to.name],
    ['sku', from.sku, to.sku],
    ['image', from.image, to.image],
    ['description', from.description, to.description],
    ['texts', textsLine(from.texts), textsLine(to.texts)],
    ['price', from.price.amount, to.price.amount],
    ['currency', from.price.currency, to.price.currency],
    ['listPrice', from.listPrice?.amount, to.listPrice?.amount],
    ['units', from.units, to.units],
    ['quantityMax', from.quantityMax, to.quantityMax],
    ['attemptsMax', from.attemptsMax, to.attemptsMax],
    ['payWithinSeconds', from.payWithinMs / 1000, to.payWithinMs / 1000],
    ['whenGateDown', from.whenGateDown, to.whenGateDown],
    ['door', from.homeDoor, to.homeDoor],
    ['shards', from.shards, to.shards],
  ])
}

export function saleChanges(from: Sale, to: Sale): FieldChange[] {
  return compare('', [
    ['name', from.name, to.name],
    ['texts', textsLine(from.texts), textsLine(to.texts)],
    ['opensAt', toRfc3339(from.opensAtMs), toRfc3339(to.opensAtMs)],
    ['closesAt', toRfc3339(from.closesAtMs), toRfc3339(to.closesAtMs)],
    ['rule', from.rule, to.rule],
    ['warmBeforeSeconds', from.warmBeforeMs / 1000, to.warmBeforeMs / 1000],
    [
      'ticketsBeforeSeconds',
      from.ticketsBeforeMs && from.ticketsBeforeMs / 1000,
      to.ticketsBeforeMs && to.ticketsBeforeMs / 1000,
    ],
    ['challenge', from.challenge ?? 'off', to.challenge ?? 'off'],
    ['paymentProviders', from.paymentProviders?.join(','), to.paymentProviders?.join(',')],
    ['listed', from.unlisted !== true, to.unlisted !== true],
    ['contactFields', from.contactFields?.join(','), to.contactFields?.join(',')],
    ['holds', holdsText(from.holds), holdsText(to.holds)],
    ['line', from.line && JSON.stringify(from.line), to.line && JSON.stringify(to.line)],
  ])
}

/** The same limits give the same text, in whatever order they were written. */
function holdsText(holds: HoldLimits | undefined): string | undefined {
  if (holds === undefined) return undefined
  const { perClaim = {}, ...limits } = holds
  const claims = Object.entries(perClaim).map(([name, max]) => [`perClaim.${name}`, max] as const)
  const all = [...Object.entries(limits), ...claims].filter(([, value]) => value !== undefined)
  return all
    .map(([name, value]) => `${name} ${value}`)
    .sort()
    .join(', ')
}

/** A field that already has the given value is no change. */
function compare(prefix: string, fields: readonly (readonly [string, unknown, unknown])[]): FieldChange[] {
  return fields
    .filter(([, from, to]) => from !== to)
    .map(([field, from, to]) => ({ field: `${prefix}${field}`, from: from ?? null, to: to ?? null }))
}
