/** A live item without a gate behind it, for tests of what only reads the registry. */

import { createBatcher } from '../../src/base/batching/batcher.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Item } from '../../src/domain/item.ts'
import type { Sale } from '../../src/domain/sale.ts'
import { LiveItem } from '../../src/flows/sell/live-item.ts'
import type { Seller } from '../../src/flows/sell/seller.ts'

export function bareLiveItem(
  sale: Sale,
  item: Item,
  makeSeller: (live: LiveItem) => Seller = () => ({}) as Seller,
): LiveItem {
  const terms = { sale, item, skewed: false, seen: { atMs: systemClock.elapsed() } }
  return new LiveItem({ ...terms, current: item.door === 'gate' }, makeSeller, () =>
    createBatcher({ batchMax: 1, queueMax: 1, run: async () => [] }),
  )
}
