import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { reportPayments } from './report-payments.ts'

const ledger = ledgerForFile()

/** A payment as it is after all, in one of the two tables. */
async function pay(
  row: Partial<{
    provider: string
    currency: string
    amount: number
    captured: string
    refunded: string
    old: boolean
  }>,
) {
  const { provider = 'house', currency = 'EUR', amount = 1_000, captured, refunded, old = false } = row
  const id = ledger.id()
  await ledger.sql(
    `INSERT INTO ${old ? 'payments_archive' : 'payments'} (id, order_id, item, provider, ref, amount_minor, currency, state, captured_at, refunded_at)
     VALUES ($1::bigint, $1::bigint, 1, $2, $1::bigint::text, $3, $4, $5, $6, $7)`,
    [
      id,
      provider,
      amount,
      currency,
      refunded === undefined ? 'captured' : 'refunded',
      captured ?? null,
      refunded ?? null,
    ],
  )
  return id
}

async function part(payment: string, no: number, before: number, amount: number, refundedAt: string | undefined) {
  await ledger.sql(
    `INSERT INTO refund_parts (id, payment, no, order_id, item, provider, ref, currency, captured_minor, before_minor, amount_minor, by, state, refunded_at)
     SELECT $1, id, $3, order_id, item, provider, ref, currency, amount_minor, $4, $5, 'op', $6, $7::timestamptz FROM all_payments WHERE id = $2`,
    [ledger.id(), payment, no, before, amount, refundedAt === undefined ? 'due' : 'refunded', refundedAt ?? null],
  )
}

const report = async (from: string, to: string, zone = 'UTC') =>
  (await reportPayments(ledger, { from, to, zone })).map(
    ({ day, provider, currency, captured, refunded, kept, captures, refunds }) =>
      `${day} ${provider} ${currency} ${captured}/${captures} - ${refunded}/${refunds} = ${kept}`,
  )

test('each day counts what was captured and confirmed as refunded then, per provider and currency, archived payments too', async () => {
  await pay({ captured: '2026-03-01T00:00:00Z' })
  await pay({ captured: '2026-03-01T23:59:59.999Z', old: true })
  await pay({ captured: '2026-03-02T00:00:00Z' })
  await pay({ captured: '2026-03-01T12:00:00Z', provider: 'bank', currency: 'JPY', amount: 7 })
  // Captured on one day, given back on another, partly before it went to the archive.
  const back = await pay({ captured: '2026-03-01T10:00:00Z', refunded: '2026-03-12T10:00:00Z', old: true })
  await part(back, 1, 0, 300, '2026-03-02T10:00:00Z')
  // A part that is not confirmed counts on no day; money of a wrong amount neither.
  await part(await pay({ captured: '2026-03-01T10:00:00Z' }), 1, 0, 1, undefined)
  await pay({ refunded: '2026-03-01T10:00:00Z' })

  expect(await report('2026-03-01', '2026-03-12')).toEqual([
    '2026-03-01 bank JPY 7/1 - 0/0 = 7',
    '2026-03-01 house EUR 4000/4 - 0/0 = 4000',
    '2026-03-02 house EUR 1000/1 - 300/1 = 700',
    '2026-03-12 house EUR 0/0 - 700/1 = -700',
  ])
  expect(await report('2026-03-02', '2026-03-02')).toEqual(['2026-03-02 house EUR 1000/1 - 300/1 = 700'])
  expect(await report('2026-02-20', '2026-02-28')).toEqual([])
  // In Shanghai the last millisecond of the first day in UTC is in the morning of the second.
  expect(await report('2026-03-01', '2026-03-02', 'Asia/Shanghai')).toEqual([
    '2026-03-01 bank JPY 7/1 - 0/0 = 7',
    '2026-03-01 house EUR 3000/3 - 0/0 = 3000',
    '2026-03-02 house EUR 2000/2 - 300/1 = 1700',
  ])
})
