/**
 * What may not be changed in a published sale, and why: shown at the field, which is then read only. The server decides in any case
 * (`editSale`); a field that becomes fixed while the form is open is refused by it, and its answer is shown at the field.
 */

import type { Sale } from '../../shapes.ts'
import { editWords } from '../../words/edit.ts'

/** By a field's path on the form: why it is fixed, or undefined where it is free. */
export type Fixed = (path: string) => string | undefined

const NOTHING_FIXED: Fixed = () => undefined

export function fixedIn(sale: Sale | undefined, nowMs: number): Fixed {
  if (sale === undefined || sale.state === 'draft') return NOTHING_FIXED
  const text = editWords().fixed
  const opensAtMs = Date.parse(sale.opensAt)
  const over = sale.state === 'over' || nowMs >= Date.parse(sale.closesAt)
  const drawnOf = sale.line?.order === 'draw' && nowMs >= Date.parse(sale.line.opensAt)
  return path => {
    if (path === 'line' || path.startsWith('line.')) return text.line
    if (over && (path === 'opensAt' || path === 'closesAt' || path === 'warmBeforeSeconds')) return text.over
    if (path === 'opensAt') return nowMs >= opensAtMs ? text.opened : drawnOf ? text.draw : undefined
    if (path === 'warmBeforeSeconds')
      return nowMs >= opensAtMs - sale.warmBeforeSeconds * 1000 ? text.warming : undefined
    const field = /^items\.\d+\.(\w+)$/.exec(path)?.[1]
    if (field === 'price' || field === 'currency') return text.price
    if (field === 'units') return text.units
    if (field === 'quantityMax' || field === 'attemptsMax') return text.limits
    return undefined
  }
}

type Json = Readonly<Record<string, unknown>>

/** What differs from the form as it was first shown: nothing else is sent, so that the change of another operator is not undone. */
export function changesOf(now: unknown, before: unknown): Json | undefined {
  const { items, ...fields } = now as Json & { readonly items: readonly Json[] }
  const { items: itemsBefore, ...fieldsBefore } = before as Json & { readonly items: readonly Json[] }
  const edits = items
    .map(item => {
      const changed = differing(item, itemsBefore.find(one => one.id === item.id) ?? {})
      return Object.keys(changed).length === 0 ? undefined : { id: item.id, ...changed }
    })
    .filter(edit => edit !== undefined)
  const changed = { ...differing(fields, fieldsBefore), ...(edits.length > 0 && { items: edits }) }
  return Object.keys(changed).length === 0 ? undefined : changed
}

function differing(now: Json, before: Json): Json {
  return Object.fromEntries(
    Object.entries(now).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field])),
  )
}
