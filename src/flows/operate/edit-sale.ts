/**
 * An operator edits a sale. In a draft every field is free, and `items` is the whole new list; an item named by its id keeps the fields
 * that are not given. In a published sale only what breaks no promise to a buyer: names, texts and pictures, the warm-up before it began,
 * the opening before it happened, the closing before it is over, and terms for later orders. One field that can't be changed refuses the
 * whole edit, and nothing is changed.
 *
 * Decided under the sale's lock by the ledger's clock. A field that already has the given value is no change, so a client may send back
 * what it read. The answer "done" follows when the gate has the new window.
 */

import { assert } from '../../base/assert.ts'
import type { IdMaker } from '../../base/snowflake.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import { DESCRIPTIONS_TOO_LONG, fitTogether, type Item } from '../../domain/item.ts'
import { isSameLine, lineFault } from '../../domain/line.ts'
import type { Sale, SaleTerms, StoredSaleState } from '../../domain/sale.ts'
import type { FieldChange, SaleWrite } from '../../ledger/sales.ts'
import {
  amended,
  amendPublished,
  type FieldFault,
  type ItemEdit,
  itemChanges,
  itemFault,
  type Refused,
  saleChanges,
} from './amend-item.ts'
import { type NewItem, newItem } from './create-sale.ts'
import type { OperateContext, SaleOutcome } from './operate-context.ts'
import { choiceFault, currencyFault, type Providers } from './payment-offer.ts'

type SaleField = 'name' | 'opensAtMs' | 'closesAtMs' | 'rule' | 'warmBeforeMs'

/** Null takes a term away. */
export type SaleEdit = { readonly [K in SaleField]?: Sale[K] | undefined } & {
  readonly [K in keyof SaleTerms]?: SaleTerms[K] | null
} & {
  /** The input, parsed both ways: as edits of existing items, and as new items of a draft. */
  readonly items?:
    | { readonly edits: readonly ItemEdit[]; readonly fresh: readonly (NewItem | FieldFault)[] }
    | undefined
}

type DeleteSaleOutcome =
  | { readonly kind: 'done' | 'missing' }
  | { readonly kind: 'not_possible'; readonly state: StoredSaleState }

type EditContext = Pick<OperateContext, 'sales' | 'ids' | 'syncState' | 'changed' | 'providers'>

/** A warm-up that has begun stays begun when the opening is moved later. The margin covers the time until the commit. */
const WARM_MARGIN_MS = 1_000

const DECIDED = { kind: 'decided' } as const

export async function editSale(
  context: EditContext,
  id: SaleId,
  edit: SaleEdit,
  by: string,
): Promise<SaleOutcome | Refused> {
  const chosenFault = choiceFault(context.providers, edit.paymentProviders)
  if (chosenFault !== undefined) return { kind: 'invalid', field: 'paymentProviders', why: chosenFault }
  const decided = await context.sales.edit<Refused | typeof DECIDED>(id, by, (sale, nowMs) => {
    const decision =
      sale.state === 'draft' ? editDraft(sale, edit, context.ids) : editPublished(sale, edit, nowMs, context.providers)
    if ('kind' in decision) return { result: decision }
    return { ...(decision.changes.length > 0 && { write: decision }), result: DECIDED }
  })
  if (decided === undefined) return { kind: 'missing' }
  if (decided.kind !== 'decided') return decided
  context.changed()
  const synced = await context.syncState(id, false)
  const sale = await context.sales.find(id)
  if (sale === undefined) return { kind: 'missing' }
  return synced ? { kind: 'done', sale } : { kind: 'busy' }
}

export async function deleteSale(context: EditContext, id: SaleId, by: string): Promise<DeleteSaleOutcome> {
  const removed = await context.sales.remove(id, by)
  context.changed()
  if (removed) return { kind: 'done' }
  const sale = await context.sales.find(id)
  return sale === undefined ? { kind: 'missing' } : { kind: 'not_possible', state: sale.state }
}

function editDraft(sale: Sale, edit: SaleEdit, ids: Pick<IdMaker, 'next'>): SaleWrite | Refused {
  const { items, ...fields } = edit
  const next = amended(sale, fields)
  if (next.opensAtMs >= next.closesAtMs)
    return { kind: 'invalid', field: 'closesAt', why: 'must be later than opensAt' }
  const ofLine = next.line && lineFault(next, next.line)
  if (ofLine !== undefined) return { kind: 'invalid', ...ofLine }
  const changes = saleChanges(sale, next)
  if (items === undefined) return { sale: next, items: new Set(), changes }
  const { edits, fresh } = items
  assert(fresh.length === edits.length, 'the two parsed lists of items differ in length')
  const known = new Map(sale.items.map(item => [item.id, item]))
  const list: Item[] = []
  const ofItems: FieldChange[] = []
  for (const [i, wish] of edits.entries()) {
    if (wish.id === undefined) {
      const item = fresh[i]!
      if ('field' in item) return { kind: 'invalid', ...item }
      list.push(newItem(item, ids.next(), sale.id))
      continue
    }
    const was = known.get(wish.id)
    // Each id must be of this sale, and given once.
    if (was === undefined || !known.delete(wish.id))
      return { kind: 'invalid', field: `items.${i}.id`, why: 'is no item of this sale, or named twice' }
    const item = amended(was, wish)
    const fault = itemFault(was, item, `items.${i}.`)
    if (fault !== undefined) return { kind: 'invalid', ...fault }
    list.push(newItem(item, item.id, sale.id))
    ofItems.push(...itemChanges(was, item, `items.${i}.`))
  }
  if (!fitTogether(list)) return { kind: 'invalid', field: 'items', why: DESCRIPTIONS_TOO_LONG }
  const sameList = list.length === sale.items.length && list.every((item, i) => item.id === sale.items[i]!.id)
  if (!sameList) changes.push({ field: 'items', from: sale.items.length, to: list.length })
  changes.push(...ofItems)
  return { sale: { ...next, items: list }, items: 'replaced', changes }
}

function editPublished(sale: Sale, edit: SaleEdit, nowMs: number, providers: Providers): SaleWrite | Refused {
  const { items, ...fields } = edit
  const next = amended(sale, fields)
  const fault = windowFault(sale, next, nowMs)
  if (fault !== undefined) return { kind: 'not_changeable', ...fault }
  const unpayable = edit.paymentProviders === undefined ? undefined : currencyFault(providers, next)
  if (unpayable !== undefined) return { kind: 'invalid', field: 'paymentProviders', why: unpayable }
  const changes = saleChanges(sale, next)
  const edited = new Map<ItemId, Item>()
  for (const [i, wish] of (items?.edits ?? []).entries()) {
    if (wish.id === undefined)
      return { kind: 'not_changeable', field: 'items', why: 'can only be changed one by one, by id, once published' }
    const item = sale.items.find(one => one.id === wish.id)
    if (item === undefined || edited.has(wish.id))
      return { kind: 'invalid', field: `items.${i}.id`, why: 'is no item of this sale, or named twice' }
    const decided = amendPublished(item, wish, `items.${i}.`)
    if ('kind' in decided) return decided
    edited.set(item.id, decided.item)
    changes.push(...decided.changes)
  }
  const warmBegun = nowMs >= sale.opensAtMs - sale.warmBeforeMs
  const warmBeforeMin = warmBegun ? next.opensAtMs - nowMs + WARM_MARGIN_MS : 0
  const warmBeforeMs = Math.max(next.warmBeforeMs, warmBeforeMin)
  const list = sale.items.map(item => edited.get(item.id) ?? item)
  if (!fitTogether(list)) return { kind: 'invalid', field: 'items', why: DESCRIPTIONS_TOO_LONG }
  return { sale: { ...next, warmBeforeMs, items: list }, items: new Set(edited.keys()), changes }
}

/** Why a published sale can't have these times, rule and warm-up. */
function windowFault(sale: Sale, next: Sale, nowMs: number): FieldFault | undefined {
  const over = sale.state === 'over' || nowMs >= sale.closesAtMs
  if (next.rule !== sale.rule) return { field: 'rule', why: 'is fixed once published' }
  if (!isSameLine(next.line, sale.line))
    return { field: 'line', why: 'is fixed once published; its rate has a call of its own' }
  const ofLine = next.line && lineFault(next, next.line)
  if (ofLine !== undefined) return ofLine
  if (next.opensAtMs !== sale.opensAtMs) {
    if (sale.line?.order === 'draw' && nowMs >= sale.line.opensAtMs)
      return { field: 'opensAt', why: 'is fixed once the line is open: its draw names the moment of the seal' }
    if (over || nowMs >= sale.opensAtMs) return { field: 'opensAt', why: 'the sale has opened already' }
    if (next.opensAtMs <= nowMs) return { field: 'opensAt', why: 'must not lie in the past' }
    if (next.opensAtMs >= next.closesAtMs) return { field: 'opensAt', why: 'must be earlier than closesAt' }
  }
  if (next.closesAtMs !== sale.closesAtMs) {
    if (over) return { field: 'closesAt', why: 'the sale is over' }
    if (next.closesAtMs <= nowMs)
      return { field: 'closesAt', why: 'must lie in the future; end the sale to close it now' }
    if (next.opensAtMs >= next.closesAtMs) return { field: 'closesAt', why: 'must be later than opensAt' }
  }
  if (next.warmBeforeMs !== sale.warmBeforeMs && (over || nowMs >= sale.opensAtMs - sale.warmBeforeMs))
    return { field: 'warmBeforeSeconds', why: 'the warm-up has begun already' }
  return undefined
}
