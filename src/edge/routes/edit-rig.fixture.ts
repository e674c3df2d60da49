/** Sales edited through the operators' routes, on the ledger and gate of whoever tests, with a keeper whose rounds come when they are asked for. */

import { type Clock, nextTurn } from '../../base/clock.ts'
import { noMeters } from '../../base/meters.ts'
import { createSharedTimeout } from '../../base/shared-timeout.ts'
import { createMessages } from '../../flows/follow/messages.ts'
import { syncStateNear } from '../../flows/keep/sync-state.ts'
import { keepOnSale, type WarmParts } from '../../flows/keep/warm-sale.ts'
import { PLACE_WAIT_MS } from '../../flows/sell/decide-batch.ts'
import type { Registry } from '../../flows/sell/live-item.ts'
import type { Gate } from '../../gate/gate.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { Orders } from '../../ledger/orders.ts'
import type { Rights } from '../../ledger/rights.ts'
import type { Sales } from '../../ledger/sales.ts'
import { ProblemError } from '../http/problem-response.ts'
import { createRouter } from '../http/router.ts'
import { operatorEditRoutes } from './operator-edit-routes.ts'

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

export type EditRig = ReturnType<typeof createEditRig>

interface EditRigParts {
  readonly clock: Clock
  readonly gate: Gate & LocalView
  readonly sales: Sales
  readonly orders: Orders
  readonly rights: Rights
}

export function createEditRig({ clock, gate, sales, orders, rights }: EditRigParts) {
  const registry: Registry = new Map()
  const messages = createMessages()
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  const timeout = createSharedTimeout({ clock, ms: PLACE_WAIT_MS })
  const warm: WarmParts = {
    gate,
    near: gate,
    rights,
    sales,
    clock,
    log: silent,
    registry,
    decide: { gate, orders, clock, log: silent, meters: noMeters, messages, timeout, onStale() {}, alarm() {} },
    maySell: () => true,
    prepare: async () => {},
    shutIdle: async () => {},
    fenceMs: 0,
    batchMax: 500,
    queueMax: 100,
    defer: nextTurn,
  }
  const keeper = { round: () => keepOnSale(warm) }
  const syncState = syncStateNear({ sales, keeper, near: gate, registry })
  const run = { sales, syncState, nowMs: () => gate.nowMs(), changed() {}, messages }
  let lastId = 0
  const ids = { next: () => String(++lastId) }
  const operate = { ...run, ids }
  const identity = { operator: () => 'olga', buyer: () => Promise.reject(new Error('no buyer here')) }
  const find = createRouter(operatorEditRoutes({ identity, near: gate, operate }))
  return { gate, sales, orders, ids, run, call }

  async function call(method: 'PATCH' | 'DELETE', sale: string, body?: unknown): Promise<Answer> {
    const url = new URL(`http://stampede.test/api/admin/sales/${sale}`)
    const match = find(method, url.pathname)
    if (match.kind !== 'found') throw new Error(`${method} is not routed`)
    const request = new Request(url, { method, ...(body !== undefined && { body: JSON.stringify(body) }) })
    let response: Response
    try {
      response = await match.handle({ request, url, params: match.params, requestId: 'r' })
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error
      response = error.toResponse()
    }
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }
}
