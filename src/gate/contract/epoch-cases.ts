/** Who may sell: nothing before activation, nothing under a lower epoch, and a snapshot that adds up (E1, E3, E8, E9). */

import { expect, test } from 'bun:test'
import type { Gate, Holding, Terms } from '../gate.ts'
import { type Bench, decided, held, ItemOnSale } from './item-on-sale.ts'

export function epochCases(bench: Bench): void {
  /** Everything that sells or changes, under this epoch: what it says, with the answers left out. */
  async function statuses(sale: ItemOnSale, epoch: number): Promise<string[]> {
    const { gate, item, terms } = sale
    const ask = sale.ask('zombie')
    const replies = [
      await gate.reserve(item, epoch, [ask]),
      await gate.release(item, epoch, [{ ...ask, outcome: 'closed' }]),
      await gate.change(item, epoch, terms.changeNo + 1, 100),
      await gate.set(item, epoch, { ...terms, state: 'over' }),
    ]
    return replies.map(reply => reply.status)
  }
  const STALE = ['stale', 'stale', 'stale', 'stale']
  const done = { status: 'done' } as const
  const stale = { status: 'stale' } as const

  async function expectNobodySells(sale: ItemOnSale, ...epochs: number[]): Promise<void> {
    for (const epoch of epochs) expect(await statuses(sale, epoch)).toEqual(STALE)
    expect(await sale.gate.find(sale.item, 'a')).toEqual(stale)
    expect((await sale.gate.status([sale.item])).items).toEqual([])
  }

  test('until it is activated, everything but fence, load and activate is stale', async () => {
    const sale = await ItemOnSale.unopened(bench, { left: 5, held: 1, buyers: 1 })
    const { gate, item } = sale
    await expectNobodySells(sale, 1, 2)
    expect(await gate.fence(item, 2)).toEqual(done)
    await expectNobodySells(sale, 1, 2, 3)
    expect(await gate.load(item, 2, [held(sale.ask('a'))])).toEqual(done)
    await expectNobodySells(sale, 1, 2, 3)
    expect(await gate.activate(item, 2, sale.terms)).toEqual(done)
    sale.epoch = 2
    expect(await sale.codes(sale.ask('a'), sale.ask('b'))).toEqual(['same', 'reserved'])
    expect(await sale.counts()).toEqual({ left: 4, held: 2, buyers: 2 })
  })

  test('only the active epoch sells: not a lower one, not a higher one', async () => {
    const sale = await ItemOnSale.unopened(bench, { left: 5 })
    await sale.gate.activate(sale.item, 3, sale.terms)
    const before = await sale.gateStatus()
    for (const epoch of [1, 2, 4, 30]) expect(await statuses(sale, epoch)).toEqual(STALE)
    expect(await sale.gateStatus()).toEqual(before)
  })

  test('a fence stops everything under a lower epoch at once, and for good', async () => {
    const sale = await ItemOnSale.open(bench, { left: 5 })
    const a = sale.ask('a')
    expect(await sale.codes(a)).toEqual(['reserved'])
    expect(await sale.gate.fence(sale.item, 2)).toEqual(done)
    expect(await sale.gate.fence(sale.item, 2)).toEqual(done)
    expect(await sale.gate.reserve(sale.item, 1, [a])).toEqual({ status: 'stale', epoch: 2 })
    await expectNobodySells(sale, 1, 2)
    expect(await sale.gate.activate(sale.item, 1, sale.terms)).toEqual(stale)
    await expectNobodySells(sale, 1, 2)
  })

  test('fencing the epoch that is active changes nothing', async () => {
    const sale = await ItemOnSale.open(bench, { left: 5 })
    expect(await sale.gate.fence(sale.item, 1)).toEqual(done)
    expect(await sale.codes(sale.ask('a'))).toEqual(['reserved'])
  })

  test('a zombie keeper with a lower epoch can not fence, load or activate', async () => {
    const sale = await ItemOnSale.unopened(bench, { left: 5 })
    const { gate, item } = sale
    await gate.fence(item, 7)
    expect(await gate.load(item, 6, [held(sale.ask('zombie'))])).toEqual(stale)
    expect(await gate.activate(item, 6, sale.terms)).toEqual(stale)
    await expectNobodySells(sale, 6, 7)
    expect(await gate.activate(item, 7, sale.terms)).toEqual(done)
    sale.epoch = 7
    expect(await sale.codes(sale.ask('a'))).toEqual(['reserved'])
    const before = await sale.gateStatus()
    expect(await gate.fence(item, 6)).toEqual(stale)
    expect(await gate.load(item, 6, [held(sale.ask('zombie'))])).toEqual(stale)
    expect(await gate.activate(item, 6, { ...sale.terms, left: 100 })).toEqual(stale)
    expect(await sale.gateStatus()).toEqual(before)
    expect(await sale.codes(sale.ask('a'), sale.ask('b'))).toEqual(['same', 'reserved'])
  })

  test('of two keepers that load at the same time, the higher epoch wins and no page of the other leaks in', async () => {
    const sale = await ItemOnSale.unopened(bench, { left: 5 })
    const { gate, item } = sale
    const [lower, higher] = [held(sale.ask('lower')), held(sale.ask('higher'))]
    expect(await gate.load(item, 2, [lower])).toEqual(done)
    expect(await gate.load(item, 3, [higher])).toEqual(done)
    expect(await gate.load(item, 2, [held(sale.ask('late'))])).toEqual(stale)
    expect(await gate.activate(item, 2, { ...sale.terms, held: 1, buyers: 1 })).toEqual(stale)
    expect(await gate.activate(item, 3, { ...sale.terms, held: 1, buyers: 1 })).toEqual(done)
    sale.epoch = 3
    expect(await sale.holdings('lower')).toEqual([])
    expect(await sale.holdings('higher')).toEqual([higher])
  })

  test('a lower epoch goes on selling while a higher one loads, and stops when it is fenced', async () => {
    const sale = await ItemOnSale.open(bench, { left: 5 })
    const { gate, item } = sale
    expect(await gate.load(item, 2, [held(sale.ask('loaded'))])).toEqual(done)
    expect(await sale.codes(sale.ask('a'), sale.ask('loaded'))).toEqual(['reserved', 'reserved'])
    expect(await sale.counts()).toEqual({ left: 3, held: 2, buyers: 2 })
    expect(await gate.activate(item, 1, sale.terms)).toEqual(done)
    expect(await sale.counts()).toEqual({ left: 3, held: 2, buyers: 2 })
    expect(await gate.fence(item, 2)).toEqual(done)
    await expectNobodySells(sale, 1, 2)
    expect(await gate.activate(item, 2, { ...sale.terms, held: 1, buyers: 1 })).toEqual(done)
    sale.epoch = 2
    expect(await sale.holdings('a')).toEqual([])
    expect(await sale.holdings('loaded')).toHaveLength(1)
  })

  test('an activation is a fence too', async () => {
    const sale = await ItemOnSale.open(bench, { left: 5 })
    expect(await sale.gate.activate(sale.item, 2, { ...sale.terms, left: 9 })).toEqual(done)
    expect(await statuses(sale, 1)).toEqual(STALE)
    expect(await sale.gateStatus()).toMatchObject({ epoch: 2, left: 9 })
  })

  test('activating again is done and resurrects no sold unit', async () => {
    const sale = await ItemOnSale.open(bench, { left: 2 })
    expect(await sale.codes(sale.ask('a'))).toEqual(['reserved'])
    expect(await sale.gate.change(sale.item, 1, 1, 4)).toMatchObject(done)
    const before = await sale.gateStatus()
    expect(await sale.gate.activate(sale.item, 1, sale.terms)).toEqual(done)
    expect(await sale.gateStatus()).toEqual(before)
  })

  test('a page that comes late, after the activation, changes nothing', async () => {
    const sale = await ItemOnSale.unopened(bench, { left: 5, held: 1, buyers: 1 })
    const page = [held(sale.ask('a'))]
    await sale.gate.load(sale.item, 1, page)
    await sale.gate.activate(sale.item, 1, sale.terms)
    await sale.release(sale.ask('a', { order: page[0]!.order }), 'closed')
    expect(await sale.gate.load(sale.item, 1, page)).toEqual(stale)
    expect(await sale.counts()).toEqual({ left: 6, held: 0, buyers: 1 })
    expect(await sale.codes(sale.ask('a'))).toEqual(['same_closed'])
  })

  test('the snapshot comes in pages, the same page twice is the same as once, and every attempt has its outcome', async () => {
    const sale = await ItemOnSale.unopened(bench, { left: 5, attemptsMax: 3 })
    const buyers = Array.from({ length: 30 }, (_, i) => `buyer${i}`)
    const holdings: Holding[] = buyers.flatMap(buyer => [
      held(sale.ask(buyer, { quantity: 3 }), false),
      held(sale.ask(buyer, { attempt: 2, quantity: 2 }), buyer !== 'buyer0'),
    ])
    for (let from = 0; from < holdings.length; from += 7) {
      const page = holdings.slice(from, from + 7)
      for (let i = 0; i < 2; i++) expect(await sale.gate.load(sale.item, 1, page)).toEqual(done)
    }
    expect(await sale.gate.load(sale.item, 1, holdings.slice(0, 20))).toEqual(done)
    expect(await sale.gate.load(sale.item, 1, [])).toEqual(done)
    expect(await sale.gate.activate(sale.item, 1, { ...sale.terms, held: 58, buyers: 30 })).toEqual(done)
    expect(await sale.counts()).toEqual({ left: 5, held: 58, buyers: 30 })
    for (const holding of holdings) {
      const { code, order, quantity, reservedAtMs } = await sale.answer(
        sale.ask(holding.buyer, { attempt: holding.attempt }),
      )
      expect(code).toBe(holding.live ? 'same' : 'same_closed')
      expect({ order, quantity, reservedAtMs }).toEqual({
        order: holding.order,
        quantity: holding.quantity,
        reservedAtMs: holding.reservedAtMs,
      })
    }
    expect(await sale.holdings('buyer1')).toEqual(holdings.slice(2, 4))
    const { order, buyer } = holdings[5]!
    const [, stranger] = sale.together(buyer, 'new')
    const [third, another] = [sale.ask('buyer0', { attempt: 3 }), sale.ask(stranger, { order })]
    expect(await sale.codes(third, another)).toEqual(['reserved', 'id_conflict'])
    await sale.release(sale.ask('buyer1', { order: holdings[3]!.order, attempt: 2 }), 'closed')
    expect(await sale.counts()).toEqual({ left: 6, held: 57, buyers: 30 })
  })

  test('a snapshot that does not add up is refused as a bug, and nothing is sold from it', async () => {
    const sale = await ItemOnSale.unopened(bench, { left: 5, held: 2, buyers: 1 })
    const { gate, item, terms } = sale
    await gate.load(item, 1, [held(sale.ask('a', { quantity: 2 }))])
    const wrong: Partial<Terms>[] = [{ held: 1 }, { held: 3 }, { buyers: 0 }, { buyers: 2 }]
    for (const one of wrong) await expect(gate.activate(item, 1, { ...terms, ...one })).rejects.toThrow()
    await expectNobodySells(sale, 1)
    expect(await gate.activate(item, 1, terms)).toEqual(done)
    expect(await sale.codes(sale.ask('a'), sale.ask('b'))).toEqual(['same', 'reserved'])
  })

  test('an activation without its pages is refused as a bug', async () => {
    const sale = await ItemOnSale.open(bench, { left: 5 })
    await sale.gate.load(sale.item, 2, [held(sale.ask('a'))])
    await expect(sale.gate.activate(sale.item, 3, { ...sale.terms, held: 1, buyers: 1 })).rejects.toThrow()
    expect(await sale.codes(sale.ask('b'))).toEqual(['reserved'])
  })

  test('malformed terms are refused as a bug', async () => {
    const sale = await ItemOnSale.unopened(bench, { left: 5 })
    const { gate, item, terms } = sale
    const wrong: Partial<Terms>[] = [
      { left: -1 },
      { left: 1.5 },
      { attemptsMax: 0 },
      { changeNo: -1 },
      { closesAtMs: terms.opensAtMs },
    ]
    for (const one of wrong) await expect(gate.activate(item, 1, { ...terms, ...one })).rejects.toThrow()
    await expect(gate.activate(item, 0, terms)).rejects.toThrow()
    await expectNobodySells(sale, 0, 1)
  })

  test('pages that contradict each other or themselves are refused as a bug, and leave no trace', async () => {
    const sale = await ItemOnSale.unopened(bench, { left: 5, held: 1, buyers: 2 })
    const { gate, item } = sale
    const [one, two, three, four] = sale.together('a', 'b', 'c', 'd')
    const [a, b] = [held(sale.ask(one)), held(sale.ask(two), false)]
    await gate.load(item, 1, [a, b])
    const fresh = held(sale.ask(three))
    const contradictions: Holding[][] = [
      [fresh, { ...a, order: sale.order() }],
      [fresh, { ...a, quantity: 2 }],
      [fresh, { ...a, live: false }],
      [fresh, { ...fresh, attempt: 2, order: sale.order() }],
      [fresh, held(sale.ask(one, { attempt: 2 }))],
      [fresh, held(sale.ask(four, { order: b.order }), false)],
      [fresh, held(sale.ask(four, { order: fresh.order }))],
      [fresh, held(sale.ask(four, { quantity: 0 }))],
    ]
    for (const page of contradictions) await expect(gate.load(item, 1, page)).rejects.toThrow()
    expect(await gate.activate(item, 1, sale.terms)).toEqual(done)
    expect(await sale.holdings(three)).toEqual([])
  })

  test('after a rebuild under a higher epoch everybody keeps what they had', async () => {
    const sale = await ItemOnSale.open(bench, { left: 4, attemptsMax: 2 })
    const { gate, item } = sale
    const buyers = ['a', 'b', 'c']
    const [a, b, c] = [sale.ask('a'), sale.ask('b', { quantity: 2 }), sale.ask('c')]
    expect(await sale.codes(a, b, c)).toEqual(['reserved', 'reserved', 'reserved'])
    await sale.release(c, 'closed')
    const before = await sale.gateStatus()
    const snapshot = (await Promise.all(buyers.map(buyer => sale.holdings(buyer)))).flat()

    await rebuild(gate, item, 2, snapshot, {
      ...sale.terms,
      left: before.left,
      held: before.held,
      buyers: before.buyers,
    })
    sale.epoch = 2
    const reply = decided(await gate.reserve(item, 2, [sale.ask('a'), sale.ask('b'), sale.ask('c'), sale.ask('d')]))
    expect(reply.answers.map(answer => answer.code)).toEqual(['same', 'same', 'same_closed', 'reserved'])
    expect(reply.answers.slice(0, 3).map(answer => answer.order)).toEqual([a.order, b.order, c.order])
    expect(reply).toMatchObject({ epoch: 2, left: 0 })
    await sale.release(b, 'closed')
    expect(await sale.counts()).toEqual({ left: 2, held: 2, buyers: 4 })
  })
}

async function rebuild(
  gate: Gate,
  item: string,
  epoch: number,
  snapshot: readonly Holding[],
  terms: Terms,
): Promise<void> {
  expect(await gate.fence(item, epoch)).toEqual({ status: 'done' })
  for (const holding of snapshot) expect(await gate.load(item, epoch, [holding])).toEqual({ status: 'done' })
  expect(await gate.activate(item, epoch, terms)).toEqual({ status: 'done' })
}
