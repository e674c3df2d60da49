/** Automatic reconciliation follows what happens: a hundred idle sales are not audited every half minute. */

import { expect, test } from 'bun:test'
import { Fault } from '../../base/fault.ts'
import type { Order } from '../../domain/order.ts'
import type { Sale } from '../../domain/sale.ts'
import { createMessages } from '../follow/messages.ts'
import type { LiveItem } from '../sell/live-item.ts'
import type { CheckContext } from './check-context.ts'
import { createLiveReconciler } from './reconcile-live.ts'

function among(sales: number) {
  const messages = createMessages()
  const saved: string[] = []
  const live = Array.from({ length: sales }, (_, i) => ({ sale: { id: String(i), items: [] } as unknown as Sale }))
  const registry = new Map(live.map(one => [one.sale.id, one as LiveItem]))
  const wish = { fails: '' }
  const check = {
    registry,
    reconciliation: {
      audit: async () => [],
      paymentsAmiss: async () => [],
      async save(sale: string) {
        if (sale === wish.fails) throw new Fault('away', 'the ledger is away', { retryable: true })
        saved.push(sale)
      },
    },
    view: { status: async () => new Map(), unplaced: async () => new Map() },
  } as unknown as CheckContext
  const round = createLiveReconciler(check, messages)
  return {
    messages,
    registry,
    wish,
    async round() {
      saved.length = 0
      await round()
      return saved.toSorted((a, b) => Number(a) - Number(b))
    },
  }
}

const order = (sale: string) => ({ id: '1', sale }) as Order

test('the first round takes all; then those whose orders changed and eight others, each in its turn', async () => {
  const { round, messages } = among(100)
  expect(await round()).toHaveLength(100)
  const seen = new Set<string>()
  for (let i = 0; i < 13; i++) {
    messages.orderChanged(order('42'))
    const saved = await round()
    expect(saved).toContain('42')
    expect(saved.length).toBeLessThanOrEqual(9)
    for (const sale of saved) seen.add(sale)
  }
  expect(seen.size).toBe(100)
})

test('up to eight sales are reconciled in every round, and after missed messages all are', async () => {
  const few = among(8)
  for (let i = 0; i < 3; i++) expect(await few.round()).toHaveLength(8)
  const many = among(50)
  await many.round()
  expect((await many.round()).length).toBeLessThanOrEqual(8)
  many.messages.missed()
  expect(await many.round()).toHaveLength(50)
})

test('one that fails keeps no other from it, and is tried again in the next round', async () => {
  const { round, wish } = among(30)
  wish.fails = '7'
  await expect(round()).rejects.toMatchObject({ code: 'away' })
  wish.fails = ''
  expect(await round()).toContain('7')
})
