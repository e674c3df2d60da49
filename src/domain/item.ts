/** An item: what is sold, at which price, how many, and under which rules. Its door and epoch decide who may sell it. */

import type { Epoch, ItemId, SaleId } from './ids.ts'
import type { Money } from './money.ts'
import type { Texts } from './texts.ts'

/** Who may sell the item: the gate, nobody while the outbox drains, the ledger itself, or nobody at all. */
export type Door = 'gate' | 'draining' | 'ledger' | 'shut'

export interface Item {
  readonly id: ItemId
  readonly sale: SaleId
  readonly sku: string | undefined
  readonly name: string
  readonly image: string | undefined
  /** For buyers to read. Read with one sale, never with all of them, nor with those that are followed. */
  readonly description?: string | undefined
  readonly texts?: Texts | undefined
  readonly price: Money
  readonly listPrice: Money | undefined
  readonly units: number
  readonly available: number
  readonly quantityMax: number
  readonly attemptsMax: number
  readonly payWithinMs: number
  readonly whenGateDown: 'ledger' | 'shut'
  /** Its door when all is well. */
  readonly homeDoor: 'gate' | 'ledger'
  /** A gate outside the process may spread its units over so many shards. */
  readonly shards: number
  readonly door: Door
  readonly epoch: Epoch
  readonly gateEpoch: Epoch
  /** The gate of `gateEpoch` was built with so many: `shards`, or 1. */
  readonly gateShards: number
  readonly changeNo: number
}

export const DESCRIPTION_LENGTH_MAX = 2_000
/** Of all items of a sale: whoever looks at it gets them all. */
const DESCRIPTIONS_LENGTH_MAX = 20_000
export const DESCRIPTIONS_TOO_LONG = `have descriptions of more than ${DESCRIPTIONS_LENGTH_MAX} characters together`
export const UNITS_MAX = 10_000_000
export const QUANTITY_MAX = 100
export const ATTEMPTS_MAX = 100
export const SHARDS_MAX = 64

/** Is there room in one sale for these descriptions? */
export function fitTogether(items: readonly Pick<Item, 'description'>[]): boolean {
  return items.reduce((sum, { description = '' }) => sum + description.length, 0) <= DESCRIPTIONS_LENGTH_MAX
}
