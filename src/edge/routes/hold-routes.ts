/** Operators see which orders are open and not paid, and cancel chosen ones. */

import { toRfc3339 } from '../../base/clock.ts'
import { cancelHolds } from '../../flows/operate/cancel-holds.ts'
import type { ListedHold } from '../../ledger/holds.ts'
import { holdCalls } from '../../wire/holds/hold-calls.ts'
import type { CancelledHoldsAnswer, HoldsAnswer } from '../../wire/holds/hold-shapes.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { json, readBody, readPage, readQuery } from '../http/exchange.ts'
import { findSale } from './operator-sale-routes.ts'

const GROUPS_MAX = 20

const handlers = {
  async holds(edge, exchange) {
    const sale = await findSale(edge, exchange)
    const { network, claim, buyer, after, limit } = readQuery(exchange, holdCalls.holds.query)
    const query = { sale: sale.id, network, mark: claim, buyer, after: after || undefined }
    const { shown, next } = await readPage(limit, async max => {
      const found = await edge.holds.list({ ...query, limit: max })
      return found.map(wireHold)
    })
    const groups = await edge.holds.groups(sale.id, GROUPS_MAX)
    return json({ holds: shown, groups: [...groups], next } satisfies HoldsAnswer)
  },

  async cancelHolds(edge, { request }, by) {
    const { orders, reason } = await readBody(request, holdCalls.cancelHolds.body.schema)
    const outcomes = [...(await cancelHolds({ ...edge.money, journal: edge.journal }, orders, by, reason))]
    const answer: CancelledHoldsAnswer = {
      cancelled: outcomes.flatMap(([order, outcome]) => (outcome === 'cancelled' ? [order] : [])),
      kept: outcomes.flatMap(([order, why]) => (why === 'cancelled' ? [] : [{ order, why }])),
    }
    return json(answer)
  },
} satisfies Handlers<typeof holdCalls>

export const holdRoutes = (edge: EdgeContext) => routesOf(edge, holdCalls, handlers)

function wireHold({ order, placedAtMs, payByMs, network, marks, ...hold }: ListedHold): HoldsAnswer['holds'][number] {
  return {
    id: order,
    ...hold,
    placedAt: toRfc3339(placedAtMs),
    payBy: toRfc3339(payByMs),
    ...(network !== '' && { network }),
    claims: [...marks],
  }
}
