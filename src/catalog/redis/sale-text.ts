/**
 * Sales as text, and back. What is in Redis is a stranger's word: another version may have written it, or somebody with a console. It is
 * read against a schema and must be what its key says; whatever else it is, it is not known.
 */

import { z } from 'zod'
import { isId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import { type CatalogKey, LIST, LISTED_MAX, type Sales } from '../shared-layer.ts'

/** A sale with a hundred long-winded items fits ten times. What is longer is not shared. */
const TEXT_MAX = 1_000_000

const id = z.string().refine(isId)
const count = z.int().min(0)
const time = z.number().min(0)
const money = z.object({ amount: count, currency: z.string() })

const item: z.ZodType<Item> = z
  .object({
    id,
    sale: id,
    sku: z.string().optional(),
    name: z.string(),
    image: z.string().optional(),
    price: money,
    listPrice: money.optional(),
    units: count,
    available: count,
    quantityMax: count,
    attemptsMax: count,
    payWithinMs: count,
    whenGateDown: z.enum(['ledger', 'shut']),
    homeDoor: z.enum(['gate', 'ledger']),
    shards: count,
    door: z.enum(['gate', 'draining', 'ledger', 'shut']),
    epoch: count,
    gateEpoch: count,
    gateShards: count,
    changeNo: count,
  })
  // A field that was undefined is missing in the text.
  .transform(({ sku, image, listPrice, ...rest }) => ({ ...rest, sku, image, listPrice }))

const sale: z.ZodType<Sale> = z.object({
  id,
  name: z.string(),
  opensAtMs: time,
  closesAtMs: time,
  warmBeforeMs: time,
  // Drafts are nobody's to read.
  state: z.enum(['ready', 'paused', 'over']),
  // An older version does not write it.
  stateNo: count.default(0),
  rule: z.enum(['first_come', 'draw']),
  items: z.array(item).min(1),
})

const sales = z.array(sale).max(LISTED_MAX)

/** Undefined: too long. */
export function writeSales(list: Sales): string | undefined {
  const text = JSON.stringify(list)
  return text.length <= TEXT_MAX ? text : undefined
}

/** Undefined: not something of ours. */
export function readSales(key: CatalogKey, text: string): Sales | undefined {
  if (text.length > TEXT_MAX) return undefined
  const { data } = sales.safeParse(parsed(text))
  if (data === undefined || key === LIST) return data
  return data.length <= 1 && data.every(one => one.id === key) ? data : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
