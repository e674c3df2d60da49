/** An item as the columns that `create_sale` and `edit_sale` write, in JSON: ids as strings. */

import type { Item } from '../../domain/item.ts'

export function itemColumns(item: Item, position: number): Record<string, unknown> {
  return {
    id: item.id,
    position,
    sku: item.sku ?? null,
    name: item.name,
    image: item.image ?? null,
    price_minor: item.price.amount,
    list_price_minor: item.listPrice?.amount ?? null,
    currency: item.price.currency,
    units: item.units,
    quantity_max: item.quantityMax,
    attempts_max: item.attemptsMax,
    pay_within_ms: item.payWithinMs,
    when_gate_down: item.whenGateDown,
    home_door: item.homeDoor,
    shards: item.shards,
  }
}
