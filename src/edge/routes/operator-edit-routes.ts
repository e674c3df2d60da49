/** Operators change a sale or take a draft back. What the fields may be is said by the schemas of `POST /sales`, and only there. */

import { z } from 'zod'
import { unreachable } from '../../base/assert.ts'
import { isId } from '../../domain/ids.ts'
import type { FieldFault, ItemEdit } from '../../flows/operate/amend-item.ts'
import { deleteSale, type EditSaleParts, editSale, type SaleEdit } from '../../flows/operate/edit-sale.ts'
import type { LocalView } from '../../gate/local-view.ts'
import { type Exchange, idParam, json, type Route, readBody } from '../exchange.ts'
import type { Identity } from '../identity.ts'
import { ProblemError } from '../problems.ts'
import { ITEMS_MAX, itemInput, saleInput, toNewItem } from '../schemas.ts'
import { wireOperatorSale } from '../wire.ts'

interface OperatorEditParts {
  readonly identity: Identity
  readonly near: LocalView
  readonly edit: EditSaleParts
}

const { shape: saleFields } = saleInput
const { shape: itemFields } = itemInput

/** Nothing is required and nothing has a default: what is missing stays as it is. `null` takes away what an item need not have. */
const itemEdit = z.strictObject({
  id: z.string().refine(isId, 'must be the id of an item').optional(),
  name: itemFields.name.optional(),
  sku: itemFields.sku.unwrap().nullish(),
  image: itemFields.image.unwrap().nullish(),
  price: itemFields.price.optional(),
  listPrice: itemFields.listPrice.unwrap().nullish(),
  units: itemFields.units.optional(),
  quantityMax: itemFields.quantityMax.unwrap().optional(),
  attemptsMax: itemFields.attemptsMax.unwrap().optional(),
  payWithinSeconds: itemFields.payWithinSeconds.unwrap().optional(),
  whenGateDown: itemFields.whenGateDown.unwrap().optional(),
  door: itemFields.door.unwrap().optional(),
  shards: itemFields.shards.unwrap().optional(),
})

export const saleEdit = z.strictObject({
  name: saleFields.name.optional(),
  opensAt: saleFields.opensAt.optional(),
  closesAt: saleFields.closesAt.optional(),
  rule: saleFields.rule.unwrap().optional(),
  warmBeforeSeconds: saleFields.warmBeforeSeconds.unwrap().optional(),
  items: z.array(itemEdit).min(1).max(ITEMS_MAX).optional(),
})

type ItemEditInput = z.output<typeof itemEdit>

export function operatorEditRoutes(parts: OperatorEditParts): readonly Route[] {
  return [
    { method: 'PATCH', path: '/api/admin/sales/{sale}', handle: edit },
    { method: 'DELETE', path: '/api/admin/sales/{sale}', handle: remove },
  ]

  async function edit(exchange: Exchange): Promise<Response> {
    const by = parts.identity.operator(exchange.request)
    const wish = toEdit(await readBody(exchange.request, saleEdit))
    const outcome = await editSale(parts.edit, idParam(exchange, 'sale'), wish, by)
    switch (outcome.kind) {
      case 'done': {
        const { near } = parts
        return json(wireOperatorSale(outcome.sale, near.nowMs(), item => near.statusNow(item)?.left))
      }
      case 'missing':
        throw new ProblemError('not_found', 'There is no such sale.')
      case 'not_changeable':
        throw new ProblemError('not_changeable', `"${outcome.field}": ${outcome.why}. Nothing was changed.`, {
          field: outcome.field,
        })
      case 'invalid':
        throw new ProblemError('body_invalid', `"${outcome.field}": ${outcome.why}.`, { field: outcome.field })
      case 'busy':
        throw new ProblemError('busy', 'The change is kept, but the gate does not show it yet. Ask again in a moment.')
      default:
        return unreachable(outcome)
    }
  }

  async function remove(exchange: Exchange): Promise<Response> {
    const by = parts.identity.operator(exchange.request)
    const outcome = await deleteSale(parts.edit, idParam(exchange, 'sale'), by)
    switch (outcome.kind) {
      case 'done':
        return new Response(null, { status: 204 })
      case 'missing':
        throw new ProblemError('not_found', 'There is no such sale.')
      case 'not_possible':
        throw new ProblemError(
          'not_changeable',
          `A sale that is ${outcome.state} can't be deleted, only a draft can.`,
          {
            field: 'state',
          },
        )
      default:
        return unreachable(outcome)
    }
  }
}

/** The checked input in the domain's own units. Items are read both ways: only the ledger knows whether the sale is a draft. */
function toEdit({ opensAt, closesAt, warmBeforeSeconds, items, ...sale }: z.output<typeof saleEdit>): SaleEdit {
  return {
    ...sale,
    opensAtMs: opensAt,
    closesAtMs: closesAt,
    warmBeforeMs: inMs(warmBeforeSeconds),
    items: items && { edits: items.map(toItemEdit), fresh: items.map(toFresh) },
  }
}

function toItemEdit({ payWithinSeconds, door, ...item }: ItemEditInput): ItemEdit {
  return { ...item, payWithinMs: inMs(payWithinSeconds), homeDoor: door }
}

function toFresh({ id, ...item }: ItemEditInput, i: number): ReturnType<typeof toNewItem> | FieldFault {
  const present = Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null))
  const parsed = itemInput.safeParse(present)
  if (parsed.success) return toNewItem(parsed.data)
  const issue = parsed.error.issues[0]
  return { field: ['items', i, ...(issue?.path ?? [])].join('.'), why: issue?.message ?? 'is not valid' }
}

function inMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}
