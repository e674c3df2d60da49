/** Operators and their sales: create, read, publish, warm, pause, resume, end, and their stock. */

import { unreachable } from '../../base/assert.ts'
import { toRfc3339 } from '../../base/clock.ts'
import type { Sale } from '../../domain/sale.ts'
import { auditItems } from '../../flows/check/audit-sale.ts'
import type { CheckContext } from '../../flows/check/check-context.ts'
import { reconcileSale } from '../../flows/check/reconcile.ts'
import { type OpenLedgerDoorParts, openLedgerDoor } from '../../flows/keep/sell-without-gate.ts'
import { changeStock } from '../../flows/operate/change-stock.ts'
import { createSale } from '../../flows/operate/create-sale.ts'
import type { OperateContext } from '../../flows/operate/operate-context.ts'
import { runSale, type SaleMove } from '../../flows/operate/run-sale.ts'
import type { StockView } from '../../flows/sell/live-item.ts'
import type { Journal } from '../../ledger/journal.ts'
import type { StockChange } from '../../ledger/stock.ts'
import type { StockChangeAnswer } from '../../wire/answers.ts'
import { operatorCalls } from '../../wire/calls/operator-calls.ts'
import { wireAudit, wireOperatorSale } from '../answers.ts'
import { type Exchange, idParam, json, type Route, readBody } from '../http/exchange.ts'
import { keyedSubject } from '../http/idempotency.ts'
import { bodyInvalid, noSuch, notChangeable, ProblemError } from '../http/problem-response.ts'
import { type Identity, routesForOperators } from '../identity.ts'
import { toNewSale } from './sale-input.ts'

interface OperatorSaleParts {
  readonly journal: Journal
  readonly identity: Identity
  readonly stock: StockView
  readonly operate: OperateContext
  readonly check: CheckContext
  readonly door: OpenLedgerDoorParts
}

const MOVES: readonly SaleMove[] = ['publish', 'warm', 'pause', 'resume', 'end']
const SALES_MAX = 1000
const REPORTS_MAX = 20

export function operatorSaleRoutes(parts: OperatorSaleParts): readonly Route[] {
  const route = routesForOperators(parts.identity)
  const keyed = { journal: parts.journal, ids: parts.operate.ids }
  return [
    route(operatorCalls.createSale, create),
    route(operatorCalls.sales, list),
    route(operatorCalls.sale, async exchange => json(wire(await find(exchange)))),
    ...MOVES.map(name => route(operatorCalls[name], (exchange, by) => run(exchange, name, by))),
    route(operatorCalls.changeStock, stock),
    route(operatorCalls.openDoor, door),
    route(operatorCalls.audit, audit),
    route(operatorCalls.reconcile, reconcile),
    route(operatorCalls.reports, reports),
  ]

  function wire(sale: Sale) {
    return wireOperatorSale(sale, parts.stock.nowMs(), item => parts.stock.leftOf(item))
  }

  async function create({ request }: Exchange, by: string): Promise<Response> {
    const wish = await readBody(request, operatorCalls.createSale.body.schema)
    const id = await keyedSubject(keyed, 'sales', request, wish)
    const sale = await createSale(parts.operate, toNewSale(wish), id, by)
    return json(wire(sale), 201, { location: `/api/admin/sales/${sale.id}` })
  }

  async function list(): Promise<Response> {
    return json({ sales: (await parts.operate.sales.list({ drafts: true, limit: SALES_MAX })).map(wire) })
  }

  async function find(exchange: Exchange): Promise<Sale> {
    const sale = await parts.operate.sales.find(idParam(exchange, 'sale'))
    if (sale === undefined) throw noSuch('sale')
    return sale
  }

  async function run(exchange: Exchange, name: SaleMove, by: string): Promise<Response> {
    const outcome = await runSale(parts.operate, idParam(exchange, 'sale'), name, by)
    switch (outcome.kind) {
      case 'done':
        return json(wire(outcome.sale))
      case 'missing':
        throw noSuch('sale')
      case 'not_possible':
        throw notChangeable('state', `A sale that is ${outcome.state} can't do "${name}".`)
      case 'busy':
        throw new ProblemError('busy', 'Not every item is in the gate yet. Ask again in a moment.')
      default:
        return unreachable(outcome)
    }
  }

  async function stock(exchange: Exchange, by: string): Promise<Response> {
    const sale = await find(exchange)
    const item = idParam(exchange, 'item')
    if (!sale.items.some(one => one.id === item)) throw noSuch('item in this sale')
    const { delta, reason } = await readBody(exchange.request, operatorCalls.changeStock.body.schema)
    // Without a key of the operator's it gets one of ours: a statement that is tried again must not add a second time.
    const key = await keyedSubject(keyed, `stock/${item}`, exchange.request, { delta, reason })
    const outcome = await changeStock(parts.operate, { item, delta, reason, by, key })
    parts.operate.changed()
    switch (outcome.kind) {
      case 'done':
        return json(wireChange(outcome.change))
      case 'missing':
        throw noSuch('item in this sale')
      case 'too_many':
        throw bodyInvalid('delta', '"delta" would put more units on sale than an item may have.')
      case 'key_reused':
        throw new ProblemError('idempotency_key_reused')
      case 'busy':
        throw new ProblemError(
          'busy',
          'Another change of this item is under way. Ask again with the same Idempotency-Key.',
        )
      default:
        return unreachable(outcome)
    }
  }

  async function door(exchange: Exchange, by: string): Promise<Response> {
    await readBody(exchange.request, operatorCalls.openDoor.body.schema)
    const outcome = await openLedgerDoor(parts.door, idParam(exchange, 'sale'), idParam(exchange, 'item'), by)
    switch (outcome.kind) {
      case 'done':
        return json(wire(outcome.sale))
      case 'missing':
        throw noSuch('item in this sale')
      case 'not_possible':
        throw notChangeable('door', `The ledger door can't be opened: ${outcome.why}.`)
      default:
        return unreachable(outcome)
    }
  }

  async function audit(exchange: Exchange): Promise<Response> {
    return json({ items: (await auditItems(parts.check, await find(exchange))).map(wireAudit) })
  }

  async function reconcile(exchange: Exchange, by: string): Promise<Response> {
    const sale = await find(exchange)
    const report = await reconcileSale(parts.check, sale)
    await parts.check.reconciliation.save(sale.id, false, report, undefined)
    await parts.journal.write({
      by,
      action: 'sale.reconcile',
      sale: sale.id,
      details: { differences: report.differences.length },
    })
    return json(report)
  }

  /** Kept reports; when the sale is over and settled, the final one with its results comes first. */
  async function reports(exchange: Exchange): Promise<Response> {
    const sale = await find(exchange)
    const kept = await parts.check.reconciliation.reports(sale.id, REPORTS_MAX)
    const results = await parts.check.reconciliation.results(sale.id)
    return json({ results, reports: kept.map(({ atMs, ...report }) => ({ at: toRfc3339(atMs), ...report })) })
  }
}

function wireChange(change: StockChange): StockChangeAnswer {
  const taken = change.taken ?? 0
  return {
    no: change.no,
    delta: change.delta,
    taken,
    shortfall: change.delta < 0 ? taken - change.delta : 0,
    reason: change.reason,
    by: change.by,
    at: toRfc3339(change.atMs),
  }
}
