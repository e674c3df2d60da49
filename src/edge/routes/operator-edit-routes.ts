/** Operators change a sale or delete a draft. */

import { unreachable } from '../../base/assert.ts'
import { deleteSale, editSale } from '../../flows/operate/edit-sale.ts'
import type { OperateContext } from '../../flows/operate/operate-context.ts'
import type { StockView } from '../../flows/sell/live-item.ts'
import { operatorCalls } from '../../wire/calls/operator-calls.ts'
import { wireOperatorSale } from '../answers.ts'
import { type Exchange, idParam, json, type Route, readBody, route } from '../http/exchange.ts'
import { ProblemError } from '../http/problem-response.ts'
import type { Identity } from '../identity.ts'
import { toEdit } from './sale-input.ts'

interface OperatorEditParts {
  readonly identity: Identity
  readonly stock: StockView
  readonly operate: Pick<OperateContext, 'sales' | 'ids' | 'syncState' | 'changed'>
}

export function operatorEditRoutes(parts: OperatorEditParts): readonly Route[] {
  return [route(operatorCalls.editSale, edit), route(operatorCalls.deleteSale, remove)]

  async function edit(exchange: Exchange): Promise<Response> {
    const by = parts.identity.operator(exchange.request)
    const wish = toEdit(await readBody(exchange.request, operatorCalls.editSale.body.schema))
    const outcome = await editSale(parts.operate, idParam(exchange, 'sale'), wish, by)
    switch (outcome.kind) {
      case 'done': {
        const { stock } = parts
        return json(wireOperatorSale(outcome.sale, stock.nowMs(), item => stock.leftOf(item)))
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
    const outcome = await deleteSale(parts.operate, idParam(exchange, 'sale'), by)
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
