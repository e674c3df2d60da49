/** The fields that an edit changes, by their names in the API, for the journal. A field that already has the given value is no change. */

import { toRfc3339 } from '../../base/clock.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { FieldChange } from '../../ledger/sales.ts'

export function itemChanges(from: Item, to: Item, prefix: string): FieldChange[] {
  return compare(prefix, [
    ['name', from.name, to.name],
    ['sku', from.sku, to.sku],
    ['image', from.image, to.image],
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
    ['opensAt', toRfc3339(from.opensAtMs), toRfc3339(to.opensAtMs)],
    ['closesAt', toRfc3339(from.closesAtMs), toRfc3339(to.closesAtMs)],
    ['rule', from.rule, to.rule],
    ['warmBeforeSeconds', from.warmBeforeMs / 1000, to.warmBeforeMs / 1000],
  ])
}

function compare(prefix: string, fields: readonly (readonly [string, unknown, unknown])[]): FieldChange[] {
  return fields
    .filter(([, from, to]) => from !== to)
    .map(([field, from, to]) => ({ field: `${prefix}${field}`, from: from ?? null, to: to ?? null }))
}
