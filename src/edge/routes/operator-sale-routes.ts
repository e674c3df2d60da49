/** Operators and their sales: create, read, change, publish, warm, pause, resume, end, their stock, and what is checked about them. */

import { createHash } from 'node:crypto'
import { toRfc3339 } from '../../base/clock.ts'
import type { Sale } from '../../domain/sale.ts'
import { auditItems } from '../../flows/check/audit-sale.ts'
import { reconcileSale } from '../../flows/check/reconcile.ts'
import { changeStock } from '../../flows/operate/change-stock.ts'
import { copySale } from '../../flows/operate/copy-sale.ts'
import { createSale } from '../../flows/operate/create-sale.ts'
import { deleteSale, editSale } from '../../flows/operate/edit-sale.ts'
import { choiceFault } from '../../flows/operate/payment-offer.ts'
import { openLedgerDoor, runSale, type SaleMove } from '../../flows/operate/run-sale.ts'
import type { StockChange } from '../../ledger/stock.ts'
import type { StockChangeAnswer } from '../../wire/answers.ts'
import { operatorCalls } from '../../wire/calls/operator-calls.ts'
import { wireAudit, wireOperatorSale } from '../answers.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { type Exchange, idParam, json, readBody } from '../http/exchange.ts'
import { answerBy, bodyInvalid, noSuch, notChangeable, ProblemError } from '../http/problem-response.ts'
import { toEdit, toNewSale } from './sale-input.ts'

const SALES_MAX = 1000
const REPORTS_MAX = 20

const handlers = {
  async createSale(edge, { request }, by) {
    const wish = await readBody(request, operatorCalls.createSale.body.schema)
    const fault = choiceFault(edge.operate.providers, wish.paymentProviders)
    if (fault !== undefined) throw bodyInvalid('paymentProviders', `"paymentProviders": ${fault}.`)
    const id = await keyedSubject(edge, 'sales', request, wish)
    const sale = await createSale(edge.operate, toNewSale(wish), id, by)
    return json(wireOperatorSale(sale, edge.stock), 201, { location: `/api/admin/sales/${sale.id}` })
  },

  async sales({ operate, stock }) {
    const sales = await operate.sales.list({ drafts: true, limit: SALES_MAX })
    return json({ sales: sales.map(sale => wireOperatorSale(sale, stock)) })
  },

  sale: async (edge, exchange) => json(wireOperatorSale(await findSale(edge, exchange), edge.stock)),

  async editSale({ operate, stock }, exchange, by) {
    const wish = toEdit(await readBody(exchange.request, operatorCalls.editSale.body.schema))
    return answerBy(await editSale(operate, idParam(exchange, 'sale'), wish, by), {
      done: ({ sale }) => json(wireOperatorSale(sale, stock)),
      missing: () => noSuch('sale'),
      not_changeable: ({ field, why }) => notChangeable(field, `"${field}": ${why}. Nothing was changed.`),
      invalid: ({ field, why }) => bodyInvalid(field, `"${field}": ${why}.`),
      busy: () => busy('The change is kept, but the gate does not show it yet. Ask again in a moment.'),
    })
  },

  async copySale(edge, exchange, by) {
    const sale = idParam(exchange, 'sale')
    const wish = await readBody(exchange.request, operatorCalls.copySale.body.schema)
    const copy = await keyedSubject(edge, `copy/${sale}`, exchange.request, wish)
    const { name, opensAt, closesAt, template } = wish
    const asked = { name, opensAtMs: opensAt, closesAtMs: closesAt, template }
    return answerBy(await copySale(edge.operate, sale, asked, copy, by), {
      done: made =>
        json(wireOperatorSale(made.sale, edge.stock), 201, { location: `/api/admin/sales/${made.sale.id}` }),
      missing: () => noSuch('sale'),
      invalid: ({ field, why }) => bodyInvalid(field, `"${field}": ${why}.`),
    })
  },

  async deleteSale({ operate }, exchange, by) {
    return answerBy(await deleteSale(operate, idParam(exchange, 'sale'), by), {
      done: () => new Response(null, { status: 204 }),
      missing: () => noSuch('sale'),
      not_possible: ({ state }) =>
        notChangeable('state', `A sale that is ${state} can't be deleted, only a draft can.`),
    })
  },

  publish: moving('publish'),
  warm: moving('warm'),
  pause: moving('pause'),
  resume: moving('resume'),
  end: moving('end'),

  async changeStock(edge, exchange, by) {
    const sale = await findSale(edge, exchange)
    const item = idParam(exchange, 'item')
    if (!sale.items.some(one => one.id === item)) throw noSuch('item in this sale')
    const { delta, reason } = await readBody(exchange.request, operatorCalls.changeStock.body.schema)
    // Without a key of the operator's it gets one of ours: a statement that is tried again must not add a second time.
    const key = await keyedSubject(edge, `stock/${item}`, exchange.request, { delta, reason })
    const outcome = await changeStock(edge.operate, { item, delta, reason, by, key })
    edge.operate.changed()
    return answerBy(outcome, {
      done: ({ change }) => json(wireChange(change)),
      missing: () => noSuch('item in this sale'),
      too_many: () => bodyInvalid('delta', '"delta" would put more units on sale than an item may have.'),
      key_reused: () => new ProblemError('idempotency_key_reused'),
      busy: () => busy('Another change of this item is under way. Ask again with the same Idempotency-Key.'),
    })
  },

  async openDoor({ operate, rights, stock }, exchange, by) {
    await readBody(exchange.request, operatorCalls.openDoor.body.schema)
    const [sale, item] = [idParam(exchange, 'sale'), idParam(exchange, 'item')]
    return answerBy(await openLedgerDoor({ ...operate, rights }, sale, item, by), {
      done: outcome => json(wireOperatorSale(outcome.sale, stock)),
      missing: () => noSuch('item in this sale'),
      not_possible: ({ why }) => notChangeable('door', `The ledger door can't be opened: ${why}.`),
    })
  },

  async audit(edge, exchange) {
    return json({ items: (await auditItems(edge.check, await findSale(edge, exchange))).map(wireAudit) })
  },

  async reconcile(edge, exchange, by) {
    const sale = await findSale(edge, exchange)
    const report = await reconcileSale(edge.check, sale)
    await edge.check.reconciliation.save(sale.id, 'asked', report)
    const details = { differences: report.differences.length }
    await edge.journal.write({ by, action: 'sale.reconcile', sale: sale.id, details })
    return json(report)
  },

  /** Kept reports; when the sale is over and settled, the final one with its results comes first. */
  async reports(edge, exchange) {
    const { id } = await findSale(edge, exchange)
    const kept = await edge.check.reconciliation.reports(id, REPORTS_MAX)
    const results = await edge.check.reconciliation.results(id)
    return json({ results, reports: kept.map(({ atMs, ...report }) => ({ at: toRfc3339(atMs), ...report })) })
  },
} satisfies Handlers<typeof operatorCalls>

export const operatorSaleRoutes = (edge: EdgeContext) => routesOf(edge, operatorCalls, handlers)

export async function findSale({ operate }: EdgeContext, exchange: Exchange): Promise<Sale> {
  const sale = await operate.sales.find(idParam(exchange, 'sale'))
  if (sale === undefined) throw noSuch('sale')
  return sale
}

function moving(move: SaleMove) {
  return async ({ operate, stock }: EdgeContext, exchange: Exchange, by: string): Promise<Response> =>
    answerBy(await runSale(operate, idParam(exchange, 'sale'), move, by), {
      done: ({ sale }) => json(wireOperatorSale(sale, stock)),
      missing: () => noSuch('sale'),
      not_possible: ({ state }) => notChangeable('state', `A sale that is ${state} can't do "${move}".`),
      template: () => notChangeable('template', 'A template is not published. Copy it, and publish the copy.'),
      currency_not_taken: ({ why }) => new ProblemError('currency_not_taken', `The sale is not published: ${why}.`),
      busy: () => busy('Not every item is in the gate yet. Ask again in a moment.'),
    })
}

function busy(detail: string): ProblemError {
  return new ProblemError('busy', detail)
}

/**
 * The id to make a thing under. It is stored under the request's `Idempotency-Key` first: the same key again leads to the same id, whether
 * the first try succeeded or not. The same key with another body is refused.
 */
export async function keyedSubject(
  { journal, operate }: EdgeContext,
  call: string,
  request: Request,
  body: unknown,
): Promise<string> {
  const fresh = operate.ids.next()
  const key = request.headers.get('idempotency-key')
  if (key === null) return fresh
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw bodyInvalid('Idempotency-Key', 'Idempotency-Key must be 1 to 200 printable characters without spaces.')
  const hash = createHash('sha256').update(JSON.stringify(body)).digest('base64url')
  const remembered = await journal.rememberKey(call, key, hash, fresh)
  if (remembered.bodyHash !== hash) throw new ProblemError('idempotency_key_reused')
  return remembered.subject
}

function wireChange({ no, delta, reason, by, atMs, taken = 0 }: StockChange): StockChangeAnswer {
  const shortfall = delta < 0 ? taken - delta : 0
  return { no, delta, taken, shortfall, reason, by, at: toRfc3339(atMs) }
}
