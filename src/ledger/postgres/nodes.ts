/** Node ids in PostgreSQL. */

import { createHash } from 'node:crypto'
import { together } from '../../base/batching/together.ts'
import { Fault } from '../../base/fault.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { HoldingNodes, Nodes } from '../nodes.ts'
import type { Database } from './connection/database.ts'
import { columns, number, optional, queries } from './rows.ts'

/** Long enough to outlast a short absence of the ledger, short enough that a thousand restarts a minute still find a free id. */
const LEASE_MS = 30_000
const TRIES_MAX = 20
/** Items that are asked for by one statement. */
const TOGETHER_MAX = 500

/**
 * The lowest free id first, and at every second try. In between each holder skips a number of its own, over more and more ids: a cluster
 * that starts at once must not compete for the same one.
 */
function idsSkipped(holder: string, tries: number): number {
  if (tries % 2 === 0) return 0
  const own = createHash('sha256').update(`${holder} ${tries}`).digest().readUInt32BE()
  return own % Math.min(512, 4 ** tries)
}

export function createNodes(database: Database, { leaseMs = LEASE_MS }: { readonly leaseMs?: number } = {}): Nodes {
  const { all, first, one, did, act } = queries(database)
  // A keeper that builds thousands of gates asks for each of them.
  const unconfirmed = together<{ readonly item: ItemId; readonly epoch: Epoch }, { waiting: number; lapsed: number }>(
    TOGETHER_MAX,
    asks =>
      all('unconfirmed_nodes', [asks.map(({ item }) => item), asks.map(({ epoch }) => epoch)], row =>
        columns(row, number, 'waiting', 'lapsed'),
      ),
  )
  const holding = together<undefined, HoldingNodes>(Number.MAX_SAFE_INTEGER, async asks => {
    const nodes = await one('holding_nodes', [], row => ({
      ...columns(row, number, 'live', 'unsettled', 'longest_fence_ms'),
      firstEndMs: optional(row, 'first_end_ms', number),
      lastEndMs: optional(row, 'last_end_ms', number),
    }))
    return asks.map(() => nodes)
  })
  return {
    async lease(holder, nowMs, kind, fenceMs = 0) {
      for (let i = 0; i < TRIES_MAX; i += 1) {
        const values = [holder, nowMs, leaseMs, idsSkipped(holder, i), kind, fenceMs]
        const leased = await first('lease_node', values, row => ({
          node: number(row, 'id'),
          ...columns(row, number, 'from_ms', 'until_ms'),
        }))
        if (leased !== undefined) return leased
      }
      throw new Fault(
        'no_node_id',
        'all 1024 node ids are taken: stop some processes, or wait half a minute for their leases to lapse',
      )
    },
    async renew(node, holder, nowMs) {
      const untilMs = await first('renew_node', [node, holder, nowMs, leaseMs], row => number(row, 'until_ms'))
      // A live process does it for dead ones: renewals are frequent.
      await act('cut_leases', [leaseMs])
      return untilMs
    },
    giveBack: (node, holder, lastMs) => act('give_back_node', [node, holder, lastMs]),
    confirm: (node, holder, seen) =>
      did('confirm_node', [node, holder, seen.map(({ item }) => item), seen.map(({ epoch }) => epoch)]),
    unconfirmed: (item, epoch) => unconfirmed({ item, epoch }),
    holding: () => holding(undefined),
    settle: beforeMs => act('settle_nodes', [Math.trunc(beforeMs)]),
    settleItems: settled =>
      act('settle_items', [settled.map(({ item }) => item), settled.map(({ beforeMs }) => Math.trunc(beforeMs))]),
  }
}
