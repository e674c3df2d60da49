/** Sales edited through the operators' routes, on the ledger and gate of whoever tests, with a keeper whose rounds come when they are asked for. */

import { openLocalShop } from '../../../test/harness/local-shop.ts'
import type { SyncState } from '../../flows/keep/sync-state.ts'
import { createStockView } from '../../flows/sell/live-item.ts'
import type { Database } from '../../ledger/postgres/connection/database.ts'
import { createOrders } from '../../ledger/postgres/orders.ts'
import { createRights } from '../../ledger/postgres/rights.ts'
import { createSales } from '../../ledger/postgres/sales.ts'
import type { EdgeContext } from '../edge-context.ts'
import { ProblemError } from '../http/problem-response.ts'
import { createRouter } from '../http/router.ts'
import { operatorSaleRoutes } from './operator-sale-routes.ts'

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

export type EditRig = ReturnType<typeof createEditRig>

export function createEditRig(database: Database) {
  let lastId = 0
  const ids = { next: () => String(++lastId) }
  const sales = createSales(database)
  const orders = createOrders(database)
  const shop = openLocalShop({ database, sales, orders, rights: createRights(database), id: ids.next })
  const { gate, view, registry, messages } = shop
  const syncState: SyncState = async (sale, warm) => {
    await shop.round()
    return shop.syncState(sale, warm)
  }
  const run = { sales, syncState, nowMs: () => view.nowMs(), changed() {}, messages, providers: new Map() }
  const operate = { ...run, ids }
  const identity = {
    operator: () => ({ name: 'olga', role: 'admin' as const }),
    buyer: () => Promise.reject(new Error('no buyer here')),
  }
  const edge = { identity, stock: createStockView(registry, view), operate }
  const find = createRouter(operatorSaleRoutes(edge as unknown as EdgeContext))
  return { gate, view, sales, orders, ids, run, call }

  async function call(method: 'PATCH' | 'DELETE', sale: string, body?: unknown): Promise<Answer> {
    const url = new URL(`http://stampede.test/api/admin/sales/${sale}`)
    const match = find(method, url.pathname)
    if (match.kind !== 'found') throw new Error(`${method} is not routed`)
    const request = new Request(url, { method, ...(body !== undefined && { body: JSON.stringify(body) }) })
    let response: Response
    try {
      response = await match.handle({ request, params: match.params, requestId: 'r' })
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error
      response = error.toResponse()
    }
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }
}
