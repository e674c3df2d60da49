import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { createSaleFigures } from './sale-figures.ts'

const ledger = ledgerForFile()
const OPENS_MS = Date.UTC(2026, 10, 13, 10)
const EPOCH_MS = 1_704_067_200_000

/** Ids are made in the order of time. */
const idAt = (ms: number, no: number) => String((BigInt(ms - EPOCH_MS) << 22n) + BigInt(no))

interface Written {
  readonly no: number
  readonly atMs: number
  readonly quantity?: number
  readonly state?: string
  readonly reason?: string
  readonly placedAfterMs?: number
  readonly paidAfterMs?: number
}

async function write(item: string, { no, atMs, quantity = 1, state = 'pending', reason, ...after }: Written) {
  const { placedAfterMs = 10, paidAfterMs } = after
  const at = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString())
  const [reserved, placed] = [OPENS_MS + atMs, OPENS_MS + atMs + placedAfterMs]
  await ledger.sql(
    `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, reason, epoch, reserved_at, placed_at, pay_by, paid_at, closed_at)
     VALUES ($1, $2, $3, 1, $4, 250, 'CNY', $5, $6, 1, $7, $8, $8, $9, $10)`,
    [
      idAt(reserved - 2, no),
      item,
      `buyer-${no}`,
      quantity,
      state,
      reason ?? null,
      at(reserved),
      at(placed),
      at(paidAfterMs === undefined ? undefined : placed + paidAfterMs),
      state === 'closed' ? at(placed + 60_000) : null,
    ],
  )
  return idAt(reserved - 2, no)
}

test('counts what was sold, earned, given back and waited for, of this sale alone, and the same from the archive', async () => {
  const figures = createSaleFigures(ledger.database)
  const [{ sale, item }, other] = [await ledger.openItem({ units: 100 }), await ledger.openItem({ units: 100 })]
  expect(await figures.firstOrderMs(sale)).toBeUndefined()
  expect(await figures.of(sale, OPENS_MS)).toMatchObject([{ orders: 0, revenue: { amount: 0, currency: 'CNY' } }])

  await write(other.item, { no: 99, atMs: 500, state: 'paid', paidAfterMs: 1000 })
  const partly = await write(item, { no: 1, atMs: 0, quantity: 2, state: 'paid', paidAfterMs: 20_000 })
  await write(item, { no: 2, atMs: 999, placedAfterMs: 400 })
  await write(item, { no: 3, atMs: 1000, state: 'closed', reason: 'refunded', quantity: 3, paidAfterMs: 20_000 })
  await write(item, { no: 4, atMs: 59_999, state: 'closed', reason: 'unpaid' })
  await write(item, { no: 5, atMs: 60_000, state: 'closed', reason: 'cancelled' })
  await write(item, { no: 6, atMs: 5000, state: 'closed', reason: 'refused' })
  // Before the opening: not in the minute.
  await write(item, { no: 7, atMs: -1 })
  await ledger.sql(
    `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state, captured_at)
     VALUES (1, $1, $2, 'sandbox', 'r', 500, 'CNY', 'captured', now())`,
    [partly, item],
  )
  await ledger.sql(
    `INSERT INTO refund_parts (id, payment, no, order_id, item, provider, ref, amount_minor, captured_minor, before_minor, currency, by)
     SELECT 1, id, 1, order_id, item, provider, ref, 120, amount_minor, 0, currency, 'otto' FROM payments WHERE order_id = $1`,
    [partly],
  )

  const read = async () => {
    const [line] = await figures.of(sale, OPENS_MS)
    return { first: await figures.firstOrderMs(sale), line }
  }
  const seen = await read()
  expect(seen.first).toBe(OPENS_MS - 3)
  expect(seen.line).toMatchObject({
    item,
    orders: 7,
    paidOrders: 1,
    paidUnits: 2,
    pendingOrders: 2,
    pendingUnits: 2,
    refundedOrders: 1,
    unpaidOrders: 1,
    cancelledOrders: 1,
    refusedOrders: 1,
    revenue: { amount: 2 * 250 - 120, currency: 'CNY' },
    refunded: { amount: 3 * 250 + 120, currency: 'CNY' },
  })
  expect([...seen.line!.minute].sort(([one], [two]) => one - two)).toEqual([
    [0, { orders: 2, units: 3 }],
    [1, { orders: 1, units: 3 }],
    [59, { orders: 1, units: 1 }],
  ])
  const bucket = (ms: number) => Math.round(20 * Math.log(ms))
  expect(Object.fromEntries(seen.line!.placedAfter)).toEqual({ [bucket(10)]: 5, [bucket(400)]: 1 })
  expect(Object.fromEntries(seen.line!.paidAfter)).toEqual({ [bucket(20_000)]: 2 })

  await ledger.sql(
    `WITH gone AS (DELETE FROM orders WHERE item = $1 AND state <> 'pending' RETURNING *) INSERT INTO orders_archive SELECT * FROM gone`,
    [item],
  )
  expect(await read()).toEqual(seen)
})
