/** Operators change a sale or delete a draft. */

import { unreachable } from '../../base/assert.ts'
import { deleteSale, editSale } from '../../flows/operate/edit-sale.ts'
import type { OperateContext } from '../../flows/operate/operate-context.ts'
import type { StockView } from '../../flows/sell/live-item.ts'
import { operatorCalls } from '../../wire/calls/operator-calls.ts'
import { wireOperatorSale } from '../answers.ts'
import { type Exchange, idParam, json, type Route, readBody } from '../http/exchange.ts'
import { bodyInvalid, noSuch, notChangeable, ProblemError } from '../http/problem-response.ts'
import { type Identity, routesForOperators } from '../identity.ts'
import { toEdit } from './sale-input.ts'

interface OperatorEditParts {
  readonly identity: Identity
  readonly stock: StockView
  readonly operate: Pick<OperateContext, 'sales' | 'ids' | 'syncState' | 'changed'>
}

export function operatorEditRoutes(parts: OperatorEditParts): readonly Route[] {
  const route = routesForOperators(parts.identity)
  return [route(operatorCalls.editSale, edit), route(operatorCalls.deleteSale, remove)]

  async function edit(exchange: Exchange, by: string): Promise<Response> {
    const wish = toEdit(await readBody(exchange.request, operatorCalls.editSale.body.schema))
    const outcome = await editSale(parts.operate, idParam(exchange, 'sale'), wish, by)
    switch (outcome.kind) {
      case 'done': {
        const { stock } = parts
        return json(wireOperatorSale(outcome.sale, stock.nowMs(), item => stock.leftOf(item)))
      }
      case 'missing':
        throw noSuch('sale')
      case 'not_changeable':
        throw notChangeable(outcome.field, `"${outcome.field}": ${outcome.why}. Nothing was changed.`)
      case 'invalid':
        throw bodyInvalid(outcome.field, `"${outcome.field}": ${outcome.why}.`)
      case 'busy':
        throw new ProblemError('busy', 'The change is kept, but the gate does not show it yet. Ask again in a moment.')
      default:
        return unreachable(outcome)
    }
  }

  async function remove(exchange: Exchange, by: string): Promise<Response> {
    const outcome = await deleteSale(parts.operate, idParam(exchange, 'sale'), by)
    switch (outcome.kind) {
      case 'done':
        return new Response(null, { status: 204 })
      case 'missing':
        throw noSuch('sale')
      case 'not_possible':
        throw notChangeable('state', `A sale that is ${outcome.state} can't be deleted, only a draft can.`)
      default:
        return unreachable(outcome)
    }
  }
}
