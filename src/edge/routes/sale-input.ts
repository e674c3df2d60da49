/** Operators' checked input in the domain's own units. */

import type { z } from 'zod'
import type { HoldLimits } from '../../domain/hold-limits.ts'
import type { FieldFault, ItemEdit } from '../../flows/operate/amend-item.ts'
import type { NewSale } from '../../flows/operate/create-sale.ts'
import type { SaleEdit } from '../../flows/operate/edit-sale.ts'
import { type holdsInput, itemInput, type saleEdit, type saleInput, toLine } from '../../wire/inputs.ts'

type NewItem = NewSale['items'][number]
type CheckedEdit = z.output<typeof saleEdit>
type CheckedItemEdit = NonNullable<CheckedEdit['items']>[number]

export function toNewSale(wish: z.output<typeof saleInput>): NewSale {
  const { opensAt, closesAt, warmBeforeSeconds, ticketsBeforeSeconds, challenge, holds, line, listed, items, ...sale } =
    wish
  return {
    ...sale,
    // A draw is known by its line: processes of the version before know no other rule.
    rule: 'first_come',
    opensAtMs: opensAt,
    closesAtMs: closesAt,
    warmBeforeMs: warmBeforeSeconds * 1000,
    ticketsBeforeMs: inMs(ticketsBeforeSeconds),
    challenge: challenge === 'off' ? undefined : challenge,
    holds: holds && toHolds(holds),
    line: line && toLine(line),
    unlisted: listed ? undefined : true,
    items: items.map(toNewItem),
  }
}

function toHolds({ unpaidCountsSeconds, payAgainSeconds, ...limits }: z.output<typeof holdsInput>): HoldLimits {
  return { ...limits, unpaidCountsMs: inMs(unpaidCountsSeconds), payAgainMs: inMs(payAgainSeconds) }
}

function toNewItem(wish: z.output<typeof itemInput>): NewItem {
  const { payWithinSeconds, door, sku, image, description, texts, listPrice, ...item } = wish
  const words = { sku, image, description, texts, listPrice }
  return { ...item, ...words, payWithinMs: payWithinSeconds * 1000, homeDoor: door }
}

/** Items are read both ways, as changes and as new items: only the ledger knows whether the sale is a draft. */
export function toEdit(edit: CheckedEdit): SaleEdit {
  const { opensAt, closesAt, warmBeforeSeconds, ticketsBeforeSeconds, challenge, holds, line, listed, items, ...sale } =
    edit
  return {
    ...sale,
    opensAtMs: opensAt,
    closesAtMs: closesAt,
    warmBeforeMs: inMs(warmBeforeSeconds),
    ticketsBeforeMs: ticketsBeforeSeconds === null ? null : inMs(ticketsBeforeSeconds),
    challenge: challenge === 'off' ? null : challenge,
    holds: holds && toHolds(holds),
    line: line && toLine(line),
    unlisted: listed === undefined ? undefined : listed ? null : true,
    items: items && { edits: items.map(toItemEdit), fresh: items.map(toFresh) },
  }
}

function toItemEdit({ payWithinSeconds, door, ...item }: CheckedItemEdit): ItemEdit {
  return { ...item, payWithinMs: inMs(payWithinSeconds), homeDoor: door }
}

function toFresh({ id, ...item }: CheckedItemEdit, i: number): NewItem | FieldFault {
  const present = Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null))
  const parsed = itemInput.safeParse(present)
  if (parsed.success) return toNewItem(parsed.data)
  const issue = parsed.error.issues[0]
  return { field: ['items', i, ...(issue?.path ?? [])].join('.'), why: issue?.message ?? 'is not valid' }
}

function inMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}
