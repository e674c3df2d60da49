/** What operators call: `/api/admin`. */

import type { Log } from '../../base/log.ts'
import type { IdMaker } from '../../base/snowflake.ts'
import { isBuyerId } from '../../domain/ids.ts'
import type { OrderState } from '../../domain/order.ts'
import type { Sale } from '../../domain/sale.ts'
import { auditSale } from '../../flows/audit-sale.ts'
import { createSale } from '../../flows/create-sale.ts'
import type { Shelf } from '../../flows/on-sale.ts'
import { publishSale } from '../../flows/publish-sale.ts'
import type { Keeper } from '../../flows/warm-sale.ts'
import type { NearGate } from '../../gate/near.ts'
import type { Orders } from '../../ledger/orders.ts'
import type { Sales } from '../../ledger/sales.ts'
import { cursorOf, type Exchange, idParam, json, limitOf, type Route, readBody } from '../exchange.ts'
import type { Identity } from '../identity.ts'
import { ProblemError } from '../problems.ts'
import { type SaleInput, saleInput } from '../schemas.ts'
import { wireAudit, wireOrder, wireSale } from '../wire.ts'

interface OperatorRouteParts {
  readonly sales: Sales
  readonly orders: Orders
  readonly near: NearGate
  readonly shelf: Shelf
  readonly keeper: Pick<Keeper, 'round'>
  readonly ids: Pick<IdMaker, 'next'>
  readonly identity: Identity
  readonly log: Log
  readonly changed: () => void
}

const SALES_MAX = 1000
const ORDERS_PAGE_MAX = 1000

export function operatorRoutes(parts: OperatorRouteParts): readonly Route[] {
  return [
    { method: 'POST', path: '/api/admin/sales', handle: create },
    { method: 'GET', path: '/api/admin/sales', handle: list },
    { method: 'GET', path: '/api/admin/sales/{sale}', handle: show },
    { method: 'POST', path: '/api/admin/sales/{sale}/publish', handle: publish },
    { method: 'GET', path: '/api/admin/sales/{sale}/orders', handle: orders },
    { method: 'GET', path: '/api/admin/sales/{sale}/audit', handle: audit },
    { method: 'GET', path: '/api/admin/orders/{id}', handle: showOrder },
  ]

  function wire(sale: Sale): Record<string, unknown> {
    return wireSale(sale, parts.near.nowMs(), item => parts.near.lookNow(item)?.left)
  }

  async function create({ request }: Exchange): Promise<Response> {
    const operator = parts.identity.operator(request)
    const wish = await readBody(request, saleInput)
    const sale = await createSale(parts, toNewSale(wish))
    parts.log.info({ operator, sale: sale.id }, 'sale created')
    return json(wire(sale), 201, { location: `/api/admin/sales/${sale.id}` })
  }

  async function list({ request }: Exchange): Promise<Response> {
    parts.identity.operator(request)
    const sales = await parts.sales.list({ drafts: true, limit: SALES_MAX })
    return json({ sales: sales.map(wire) })
  }

  async function find(exchange: Exchange): Promise<Sale> {
    parts.identity.operator(exchange.request)
    const sale = await parts.sales.find(idParam(exchange, 'sale'))
    if (sale === undefined) throw new ProblemError('not_found', 'There is no such sale.')
    return sale
  }

  async function show(exchange: Exchange): Promise<Response> {
    return json(wire(await find(exchange)))
  }

  async function publish(exchange: Exchange): Promise<Response> {
    const operator = parts.identity.operator(exchange.request)
    const outcome = await publishSale(parts, idParam(exchange, 'sale'))
    if (outcome.kind === 'missing') throw new ProblemError('not_found', 'There is no such sale.')
    if (outcome.kind === 'over') throw new ProblemError('not_changeable', 'The sale is over.', { field: 'state' })
    parts.log.info({ operator, sale: outcome.sale.id }, 'sale published')
    return json(wire(outcome.sale))
  }

  async function orders(exchange: Exchange): Promise<Response> {
    const sale = await find(exchange)
    const query = exchange.url.searchParams
    const state = query.get('state')
    if (state !== null && !['pending', 'paid', 'closed'].includes(state)) {
      throw new ProblemError('body_invalid', '"state" is one of pending, paid, closed.', { field: 'state' })
    }
    const buyer = query.get('buyer')
    if (buyer !== null && !isBuyerId(buyer))
      throw new ProblemError('body_invalid', '"buyer" is not a buyer id.', { field: 'buyer' })
    const after = cursorOf(exchange)
    const limit = limitOf(exchange, 100, ORDERS_PAGE_MAX)
    const found = await parts.orders.list({
      sale: sale.id,
      limit,
      ...(state !== null && { state: state as OrderState }),
      ...(buyer !== null && { buyer }),
      ...(after !== undefined && { after }),
    })
    return json({ orders: found.map(wireOrder), next: found.length === limit ? (found.at(-1)?.id ?? null) : null })
  }

  async function audit(exchange: Exchange): Promise<Response> {
    const sale = await find(exchange)
    return json({ items: (await auditSale(parts, sale.id)).map(wireAudit) })
  }

  async function showOrder(exchange: Exchange): Promise<Response> {
    parts.identity.operator(exchange.request)
    const [order] = await parts.orders.find([idParam(exchange, 'id')])
    if (order === undefined) throw new ProblemError('not_found', 'There is no such order.')
    return json(wireOrder(order))
  }
}

function toNewSale(wish: SaleInput) {
  const { opensAt, closesAt, warmBeforeSeconds, items, ...sale } = wish
  return {
    ...sale,
    opensAtMs: opensAt,
    closesAtMs: closesAt,
    warmBeforeMs: warmBeforeSeconds * 1000,
    items: items.map(({ payWithinSeconds, door, sku, image, listPrice, ...item }) => ({
      ...item,
      sku,
      image,
      listPrice,
      payWithinMs: payWithinSeconds * 1000,
      homeDoor: door,
    })),
  }
}
