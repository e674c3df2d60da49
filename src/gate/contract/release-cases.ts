/** What comes back: only what is held, only once, and what becomes of the attempt (E8). */

import { expect, test } from 'bun:test'
import { type Bench, ItemOnSale } from './item-on-sale.ts'

export function releaseCases(bench: Bench): void {
  const open = (left: number, attemptsMax = 3) => ItemOnSale.open(bench, { left, attemptsMax })

  test('a closed order gives its units back, all of them, and another buyer gets them', async () => {
    const sale = await open(3)
    const first = sale.ask('a', { quantity: 3 })
    expect(await sale.codes(first)).toEqual(['reserved'])
    expect(await sale.codes(sale.ask('b'))).toEqual(['not_enough'])
    const before = await sale.gateStatus()
    await sale.release(first, 'closed')
    const after = await sale.gateStatus()
    expect(after).toMatchObject({ left: 3, held: 0, buyers: 1 })
    expect(after.version).toBeGreaterThan(before.version)
    expect(await sale.codes(sale.ask('b', { quantity: 3 }))).toEqual(['reserved'])
  })

  test('a late duplicate click after a close buys nothing; a new attempt does', async () => {
    const sale = await open(5)
    const first = await sale.answer(sale.ask('a', { quantity: 2 }))
    await sale.release(sale.ask('a', { order: first.order }), 'closed')
    expect(await sale.answer(sale.ask('a'))).toEqual({ ...first, code: 'same_closed' })
    expect(await sale.counts()).toEqual({ left: 5, held: 0, buyers: 1 })

    const second = sale.ask('a', { attempt: 2 })
    expect(await sale.codes(second)).toEqual(['reserved'])
    expect(await sale.answer(sale.ask('a'))).toEqual({ ...first, code: 'same_closed' })
    expect(await sale.answer(sale.ask('a', { attempt: 3 }))).toMatchObject({ code: 'same', order: second.order })
    expect((await sale.holdings('a')).map(one => [one.attempt, one.order, one.live])).toEqual([
      [1, first.order, false],
      [2, second.order, true],
    ])
    expect(await sale.counts()).toEqual({ left: 4, held: 1, buyers: 1 })
  })

  test('units that are gone stay gone: the attempt is closed, nothing comes back, and again changes nothing', async () => {
    const sale = await open(5)
    const first = sale.ask('a', { quantity: 2 })
    expect(await sale.codes(first)).toEqual(['reserved'])
    const before = await sale.gateStatus()
    await sale.release(first, 'gone')
    await sale.release(first, 'gone')
    await sale.release(first, 'closed')
    expect(await sale.counts()).toEqual({ left: 3, held: 0, buyers: 1 })
    expect((await sale.gateStatus()).version).toBeGreaterThan(before.version)
    expect(await sale.codes(sale.ask('a'), sale.ask('a', { attempt: 2 }))).toEqual(['same_closed', 'reserved'])
  })

  test('attempts are used up by closed orders', async () => {
    const sale = await open(5, 2)
    for (const attempt of [1, 2]) {
      const ask = sale.ask('a', { attempt })
      expect(await sale.codes(ask)).toEqual(['reserved'])
      await sale.release(ask, 'closed')
    }
    const again = [1, 2, 3].map(attempt => sale.ask('a', { attempt }))
    expect(await sale.codes(...again)).toEqual(['same_closed', 'same_closed', 'attempts_used'])
    expect(await sale.counts()).toEqual({ left: 5, held: 0, buyers: 1 })
  })

  test('a refused order gives the units and the attempt back', async () => {
    const sale = await open(2, 1)
    const first = sale.ask('a', { quantity: 2 })
    expect(await sale.codes(first)).toEqual(['reserved'])
    await sale.release(first, 'refused')
    expect(await sale.counts()).toEqual({ left: 2, held: 0, buyers: 0 })
    expect(await sale.holdings('a')).toEqual([])
    expect(await sale.answer(sale.ask('a', { order: first.order }))).toMatchObject({ code: 'reserved', quantity: 1 })
  })

  test('a refused second attempt leaves the first one as it was', async () => {
    const sale = await open(2, 2)
    const [first, second] = [sale.ask('a'), sale.ask('a', { attempt: 2 })]
    expect(await sale.codes(first)).toEqual(['reserved'])
    await sale.release(first, 'closed')
    expect(await sale.codes(second)).toEqual(['reserved'])
    await sale.release(second, 'refused')
    expect(await sale.codes(sale.ask('a'), sale.ask('a', { attempt: 2 }))).toEqual(['same_closed', 'reserved'])
    expect(await sale.counts()).toEqual({ left: 1, held: 1, buyers: 1 })
  })

  test('a release done again does nothing again', async () => {
    const sale = await open(4)
    const [a, b] = [sale.ask('a', { quantity: 2 }), sale.ask('b')]
    expect(await sale.codes(a, b)).toEqual(['reserved', 'reserved'])
    for (const outcome of ['closed', 'closed', 'refused'] as const) await sale.release(a, outcome)
    for (const outcome of ['refused', 'refused', 'closed'] as const) await sale.release(b, outcome)
    const { order, buyer, attempt } = a
    const twice = [1, 2].map(() => ({ order, buyer, attempt, outcome: 'closed' as const }))
    expect(await sale.gate.release(sale.item, sale.epoch, twice)).toEqual({ status: 'done' })
    expect(await sale.counts()).toEqual({ left: 4, held: 0, buyers: 1 })
    expect(await sale.codes(sale.ask('a'))).toEqual(['same_closed'])
  })

  test('the same release from two sides at once gives back once', async () => {
    const sale = await open(3)
    const ask = sale.ask('a', { quantity: 2 })
    expect(await sale.codes(ask)).toEqual(['reserved'])
    await Promise.all([1, 2, 3, 4].map(() => sale.release(ask, 'closed')))
    expect(await sale.counts()).toEqual({ left: 3, held: 0, buyers: 1 })
  })

  test('only that very id is released: not another id, buyer or attempt, not a later order of the buyer', async () => {
    const sale = await open(5)
    const [a, b] = [sale.ask('a'), sale.ask('b')]
    expect(await sale.codes(a, b)).toEqual(['reserved', 'reserved'])
    for (const outcome of ['closed', 'refused'] as const) {
      await sale.release(a, outcome, { order: sale.order() })
      await sale.release(a, outcome, { order: b.order })
      await sale.release(a, outcome, { buyer: 'b' })
      await sale.release(a, outcome, { buyer: 'nobody' })
      await sale.release(a, outcome, { attempt: 2 })
    }
    expect(await sale.counts()).toEqual({ left: 3, held: 2, buyers: 2 })

    await sale.release(a, 'closed')
    const later = sale.ask('a', { attempt: 2 })
    expect(await sale.codes(later)).toEqual(['reserved'])
    await sale.release(a, 'closed')
    await sale.release(a, 'refused')
    expect(await sale.answer(sale.ask('a', { attempt: 2 }))).toMatchObject({ code: 'same', order: later.order })
    expect(await sale.counts()).toEqual({ left: 3, held: 2, buyers: 2 })
  })

  test('a batch of releases is done where it can be and passes over the rest', async () => {
    const sale = await open(3)
    const asks = ['a', 'b', 'c'].map(buyer => sale.ask(buyer))
    expect(await sale.codes(...asks)).toEqual(['reserved', 'reserved', 'reserved'])
    const releases = [sale.ask('nobody'), asks[0]!, asks[2]!].map(({ order, buyer, attempt }) => ({
      order,
      buyer,
      attempt,
    }))
    const batch = releases.map(one => ({ ...one, outcome: 'closed' as const }))
    expect(await sale.gate.release(sale.item, sale.epoch, batch)).toEqual({ status: 'done' })
    expect(await sale.counts()).toEqual({ left: 2, held: 1, buyers: 3 })
  })
}
