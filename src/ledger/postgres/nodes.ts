/** Node ids in PostgreSQL. */

import { createHash } from 'node:crypto'
import { Fault } from '../../base/fault.ts'
import type { Nodes } from '../nodes.ts'
import type { Database } from './connection/database.ts'
import { number, only } from './rows.ts'

/** Long enough to outlast a short absence of the ledger, short enough that a thousand restarts a minute still find a free id. */
const LEASE_MS = 30_000
const TRIES_MAX = 20

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
  return {
    async lease(holder, nowMs, kind, fenceMs = 0) {
      for (let i = 0; i < TRIES_MAX; i += 1) {
        const [row] = await database.run('lease_node', [holder, nowMs, leaseMs, idsSkipped(holder, i), kind, fenceMs])
        if (row !== undefined)
          return { node: number(row, 'id'), fromMs: number(row, 'from_ms'), untilMs: number(row, 'until_ms') }
      }
      throw new Fault(
        'no_node_id',
        'all 1024 node ids are taken: stop some processes, or wait half a minute for their leases to lapse',
      )
    },
    async renew(node, holder, nowMs) {
      const [row] = await database.run('renew_node', [node, holder, nowMs, leaseMs])
      // A live process does it for dead ones: renewals are frequent.
      await database.run('cut_leases', [leaseMs])
      return row === undefined ? undefined : number(row, 'until_ms')
    },
    async giveBack(node, holder, lastMs) {
      await database.run('give_back_node', [node, holder, lastMs])
    },
    async confirm(node, holder, seen) {
      const rows = await database.run('confirm_node', [
        node,
        holder,
        seen.map(one => one.item),
        seen.map(one => one.epoch),
      ])
      return rows.length === 1
    },
    async unconfirmed(item, epoch) {
      const row = only(await database.run('unconfirmed_nodes', [item, epoch]))
      return { waiting: number(row, 'waiting'), lapsed: number(row, 'lapsed') }
    },
    async longestFenceMs() {
      const row = only(await database.run('longest_fence', []))
      return number(row, 'ms')
    },
    async leaseEnds() {
      const [row] = await database.run('lease_ends', [])
      if (row === undefined || row.first_ms === null) return undefined
      return { firstMs: number(row, 'first_ms'), lastMs: number(row, 'last_ms') }
    },
    async holding() {
      const row = only(await database.run('holding_nodes', []))
      return { live: number(row, 'live'), unsettled: number(row, 'unsettled') }
    },
    async settle(beforeMs) {
      await database.run('settle_nodes', [Math.trunc(beforeMs)])
    },
  }
}
