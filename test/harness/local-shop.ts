/** One process that sells alone, in the test's own process and on its ledger: gate, registry and controller, round by round as the test wants it. */

import { openLocalGate } from '../../src/app/compose-local.ts'
import type { GateSide, ProcessContext } from '../../src/app/process-context.ts'
import { createRounds } from '../../src/app/rounds.ts'
import { createSelling } from '../../src/app/selling.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import { noMeters } from '../../src/base/meters.ts'
import { createGateView } from '../../src/flows/check/gate-view.ts'
import { createMessages } from '../../src/flows/follow/messages.ts'
import type { LiveItem, Registry } from '../../src/flows/sell/live-item.ts'
import { createOrderFinder } from '../../src/flows/sell/order-finder.ts'
import type { Orders } from '../../src/ledger/orders.ts'
import { createNodes } from '../../src/ledger/postgres/nodes.ts'
import type { Rights } from '../../src/ledger/rights.ts'
import type { TestLedger } from './money-ledger.ts'

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} }

interface LocalShopWish {
  readonly orders?: (real: Orders) => Orders
  readonly rights?: (real: Rights) => Rights
  /** How far this process's clock is ahead of the ledger's. */
  readonly aheadMs?: number
}

export function openLocalShop(
  ledger: Pick<TestLedger, 'database' | 'sales' | 'orders' | 'rights' | 'id'>,
  wish: LocalShopWish = {},
) {
  const orders = wish.orders?.(ledger.orders) ?? ledger.orders
  const rights = wish.rights?.(ledger.rights) ?? ledger.rights
  const clock = { ...systemClock, now: () => systemClock.now() + (wish.aheadMs ?? 0) }
  const nodes = createNodes(ledger.database)
  const lead = { held: true }
  const leader = { holds: () => lead.held }
  const parts = { ...ledger, orders, rights, nodes, leader } as unknown as ProcessContext['ledger']
  const registry: Registry = new Map()
  const side: GateSide = openLocalGate({ clock, ledger: parts, registry })
  const messages = createMessages()
  const alarms: string[] = []
  const { signal } = new AbortController()
  const selling = createSelling(
    {
      ...parts,
      ...side,
      config: { fenceMs: 5_000 },
      clock,
      log: quiet,
      meters: noMeters,
      messages,
      ledger: parts,
      ids: { next: ledger.id },
      registry,
      catalog: { invalidate() {} },
      finder: createOrderFinder(orders, { batchMax: 500, queueMax: 1_000 }),
      rounds: createRounds({ clock, log: quiet, meters: noMeters, signal }),
      alarm: (what: string) => void alarms.push(what),
      prepare: async () => {},
      signal,
    } as unknown as ProcessContext,
    undefined,
  )
  const { following, controller } = selling
  return {
    ...side,
    ...selling,
    orders,
    registry,
    messages,
    alarms,
    lead,
    gateView: createGateView(side.gate, side.outbox, registry),
    liveItem(item: string): LiveItem {
      const live = registry.get(item)
      if (live === undefined) throw new Error(`item ${item} is not live`)
      return live
    },
    /** Everything that the loops of a process do for its items, once and to the end. */
    async round(): Promise<void> {
      await following.round()
      await controller.round()
      await controller.idle()
      await following.round()
    },
  }
}
