import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Sale } from '../../domain/sale.ts'
import type { GateStatus } from '../../gate/gate.ts'
import type { ItemAudit } from '../../ledger/reconciliation.ts'
import type { LiveItem } from '../sell/live-item.ts'
import { isExplained } from './audit-sale.ts'
import { reconcileSale } from './reconcile.ts'
import { createSharedAudit } from './shared-audit.ts'

type ReconcileContext = Parameters<typeof reconcileSale>[0]

const ITEMS = 100
const SALE = { id: '1', rule: 'first_come', items: Array.from({ length: ITEMS }, (_, i) => ({ id: `${i + 10}` })) }

/** A sale whose audits take as long as the test says, in a rush or at rest; the books always add up. */
function openBooks(inRush: boolean) {
  let ms = 0
  let version = 0
  const books = {
    audits: 0,
    tookMs: 0,
    away: false,
    pass: (byMs: number) => {
      ms += byMs
    },
  }
  const clock: Clock = { now: () => ms, elapsed: () => ms, sleep: async () => {} }
  const row = (item: string): ItemAudit => ({
    item,
    units: 10,
    available: 6,
    pending: 4,
    paid: 0,
    closed: 0,
    releases: 0,
    oldestReleaseMs: undefined,
    gone: 0,
    moving: 0,
    ordersPlaced: 4,
    ordersRefused: 0,
    ordersPaid: 0,
    door: 'gate',
    epoch: 1,
    gateEpoch: 1,
  })
  const statusOf = (item: string): GateStatus => {
    if (inRush) version += 1
    // In a rush the gate is always some units ahead of what was just counted.
    const [left, held] = inRush ? [5, 5] : [6, 4]
    const window = { state: 'open', opensAtMs: 0, closesAtMs: 1e15 } as const
    return { item, epoch: 1, version, left, held, buyers: held, changeNo: 0, stateNo: 0, ...window }
  }
  const parts = {
    clock,
    reconciliation: {
      async audit() {
        books.audits += 1
        ms += books.tookMs
        if (books.away) throw new Fault('ledger_away', 'away', { retryable: true })
        return SALE.items.map(({ id }) => row(id))
      },
    },
    view: {
      status: async (items: readonly string[]) => new Map(items.map(item => [item, statusOf(item)])),
      unplaced: async (items: readonly string[]) => new Map(items.map(item => [item, { units: 0, miscounted: 0 }])),
    },
  }
  return { books, parts, sale: SALE as unknown as Sale }
}

test('a cheap audit is repeated for every caller, an expensive one is shown again while the ledger rests', async () => {
  const { books, parts, sale } = openBooks(false)
  const audit = createSharedAudit(parts)
  for (let i = 0; i < 3; i++) await audit(sale, 10)
  expect(books.audits).toBe(3)

  books.tookMs = 500
  const first = await audit(sale, 10)
  expect(first.lines.every(line => line.consistent)).toBe(true)
  books.pass(4_999)
  expect(await audit(sale, 10)).toBe(first)
  expect(books.audits).toBe(4)
  books.pass(1)
  expect(await audit(sale, 50)).toBe(first)
  expect(await audit(sale, 10)).not.toBe(first)
  expect(books.audits).toBe(5)

  // As long as a ledger that hangs is waited for.
  books.tookMs = 9_000
  books.pass(60_000)
  await audit(sale, 50)
  books.pass(30_000)
  books.tookMs = 1
  await audit(sale, 50)
  expect(books.audits).toBe(7)
})

test('what was found wrong is looked at again after seconds, however long the count took', async () => {
  const { books, parts, sale } = openBooks(false)
  let left = 5
  const view = {
    ...parts.view,
    status: async (items: readonly string[]) =>
      new Map([...(await parts.view.status(items))].map(([id, one]) => [id, { ...one, left }])),
  }
  books.tookMs = 500
  const audit = createSharedAudit({ ...parts, view })
  const wrong = await audit(sale, 50)
  expect(wrong.lines.every(line => line.consistent)).toBe(false)
  left = 6
  books.pass(4_999)
  expect(await audit(sale, 50)).toBe(wrong)
  books.pass(1)
  const mended = await audit(sale, 50)
  expect(mended.lines.every(line => line.consistent)).toBe(true)
  books.pass(24_999)
  expect(await audit(sale, 50)).toBe(mended)
})

test('callers at the same time share one audit, and one that failed is not shown to the next', async () => {
  const { books, parts, sale } = openBooks(false)
  books.tookMs = 500
  const audit = createSharedAudit(parts)
  const all = await Promise.all(Array.from({ length: 50 }, () => audit(sale, 0)))
  expect(new Set(all).size).toBe(1)
  expect(books.audits).toBe(1)

  books.away = true
  books.pass(60_000)
  const failed = await Promise.allSettled([audit(sale, 50), audit(sale, 50)])
  expect(failed.map(one => one.status)).toEqual(['rejected', 'rejected'])
  expect(books.audits).toBe(2)
  books.away = false
  expect((await audit(sale, 50)).lines).toHaveLength(ITEMS)
})

test('in a rush, where gate and ledger are never at rest, the orders are counted once and not until they agree', async () => {
  const { books, parts, sale } = openBooks(true)
  const { lines } = await createSharedAudit(parts)(sale, 0)
  expect(lines.some(line => line.consistent)).toBe(false)
  expect(books.audits).toBe(1)
})

test('what was wrong at a look that caught it at rest stays wrong, however much moves at the next', async () => {
  const { books, parts, sale } = openBooks(false)
  let reads = 0
  const item = SALE.items[0]!.id
  const view = {
    ...parts.view,
    async status(items: readonly string[]) {
      reads += 1
      const seen = await parts.view.status(items)
      // One unit too few in the gate; at every audit but the second the gate stands still.
      const moving = reads === 4 ? 1 : 0
      return new Map([...seen].map(([id, one]) => [id, id === item ? { ...one, left: 5, version: moving } : one]))
    },
  }
  const { lines } = await createSharedAudit({ ...parts, view })(sale, 0)
  expect(books.audits).toBeGreaterThan(2)
  expect(lines.filter(line => !isExplained(line)).map(line => line.item)).toEqual([item])
})

test('a reconciliation of a hundred items in a rush counts the orders once, not once and more for each item', async () => {
  const { books, parts, sale } = openBooks(true)
  const registry = new Map(sale.items.map(item => [item.id, { item, sale, current: true, epoch: 1 } as LiveItem]))
  const reconciliation = { ...parts.reconciliation, paymentsAmiss: async () => [] }
  const outbox = { recount: async () => 0 }
  const report = await reconcileSale(
    { ...parts, outbox, registry, reconciliation } as unknown as ReconcileContext,
    sale,
  )
  expect(report).toEqual({ differences: [], repairs: [] })
  expect(books.audits).toBe(1)
})
