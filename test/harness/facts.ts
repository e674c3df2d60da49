/** Gathers the facts that the promises are judged by, from a server that runs: its audit, its orders, and what buyers were told. */

import { readFileSync } from 'node:fs'
import type { ItemFacts, OrderFacts, Snapshot } from '../../src/domain/promises/snapshot.ts'
import type { AuditAnswer, OrderAnswer } from '../../src/wire/answers.ts'
import { childrenOf, postgresPid } from './postgres-process.ts'
import type { Shop, ShopSale } from './shop.ts'
import type { Stampede } from './stampede.ts'

type Bound = Snapshot['bounds'][number]

/** More than this for one answer, and the line is not bounded in any way that helps a buyer. */
const ANSWER_MS_BOUND = 30_000
const MEMORY_MB_BOUND = 600
/** What the server may open at most, and what PostgreSQL runs of its own. */
const POSTGRES_PROCESSES_BOUND = 60 + 10

/** All is quiet: whoever calls this has waited for every answer. */
export async function gatherFacts(shop: Shop, sale: ShopSale, server: Stampede): Promise<Snapshot> {
  const orders = await shop.orders(sale.id)
  const audit = await shop.audit(sale.id)
  const epochs = new Map(audit.map(line => [line.item, line.epoch]))
  return {
    quiet: true,
    items: audit.map(toItem),
    orders: orders.map(order => toOrder(order, shop, epochs)),
    told: shop.told,
    payments: [],
    bounds: bounds(shop, server),
    // The server does not count them where a test could read it yet.
    refusals: { refusedAtEdge: 0, networkCalls: 0 },
  }
}

function toItem({ gate, closed: _, consistent: __, ...line }: AuditAnswer): ItemFacts {
  return { ...line, rule: 'first_come', gate: gate ?? undefined, oldestReleaseMs: undefined, changes: [] }
}

function toOrder(order: OrderAnswer, shop: Shop, epochs: ReadonlyMap<string, number>): OrderFacts {
  const { id, item, buyer, attempt, quantity, state } = order
  if (state === 'reserved') throw new Error(`order ${id} in the operator's list is only reserved`)
  const first = shop.firstEpochs.get(item)
  return {
    id,
    item,
    buyer,
    attempt,
    quantity,
    price: { amount: order.amount.amount / quantity, currency: order.amount.currency },
    state,
    reason: order.reason,
    supersededBy: order.supersededBy,
    // The list does not show it: an item that has kept its first epoch has sold everything under it.
    epoch: first === epochs.get(item) ? first : undefined,
    placedAtMs: toMs(order.placedAt) ?? Number.NaN,
    paidAtMs: toMs(order.paidAt),
    closedAtMs: toMs(order.closedAt),
  }
}

function toMs(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text)
}

/** What can be measured from outside; nothing where the system does not tell. */
function bounds(shop: Shop, server: Stampede): Bound[] {
  const slowest = shop.told.reduce((most, one) => Math.max(most, one.answeredAtMs - one.askedAtMs), 0)
  const found: Bound[] = [{ name: 'slowest answer (ms)', value: Math.round(slowest), max: ANSWER_MS_BOUND }]
  const memoryKb = /^VmHWM:\s+(\d+) kB$/m.exec(read(`/proc/${server.pid}/status`))?.[1]
  if (memoryKb !== undefined)
    found.push({ name: 'memory (MB)', value: Math.round(Number(memoryKb) / 1024), max: MEMORY_MB_BOUND })
  const postgres = postgresPid(server.dataDir)
  if (postgres !== undefined) {
    found.push({ name: 'processes of PostgreSQL', value: childrenOf(postgres).length, max: POSTGRES_PROCESSES_BOUND })
  }
  return found
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
