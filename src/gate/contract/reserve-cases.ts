/** Who gets a unit: arrival order, quantities, attempts, one live order per buyer, one reservation per id. */

import { expect, test } from 'bun:test'
import { BUYER_LENGTH_MAX } from '../../domain/ids.ts'
import { type Bench, decided, ItemOnSale } from './item-on-sale.ts'

export function reserveCases(bench: Bench): void {
  const open = (left: number, attemptsMax = 3) => ItemOnSale.open(bench, { left, attemptsMax })

  test('first come, first served, and no unit is sold twice', async () => {
    const sale = await open(3)
    const asks = sale.together('a', 'b', 'c', 'd', 'e').map(buyer => sale.ask(buyer))
    const reply = await sale.reserve(...asks)
    expect(reply.status).toBe('ok')
    expect(reply.left).toBe(0)
    expect(reply.answers.map(({ code, order }) => ({ code, order }))).toEqual(
      asks.map(({ order }, i) => ({ code: i < 3 ? 'reserved' : 'not_enough', order })),
    )
    expect(await sale.codes(sale.ask('f'))).toEqual(['not_enough'])
    expect(await sale.counts()).toEqual({ left: 0, held: 3, buyers: 3 })
    expect(await sale.holdings(asks[3]!.buyer)).toEqual([])
  })

  test('a wish that is too large takes nothing, and smaller ones behind it still win', async () => {
    const sale = await open(3)
    const buyers = sale.together('a', 'b', 'c', 'd')
    const wishes = [4, 2, 2, 1].map((quantity, i) => sale.ask(buyers[i]!, { quantity }))
    expect(await sale.codes(...wishes)).toEqual(['not_enough', 'reserved', 'not_enough', 'reserved'])
    expect(await sale.counts()).toEqual({ left: 0, held: 3, buyers: 2 })
  })

  test('all that is left can be had in one order', async () => {
    const sale = await open(5)
    expect(await sale.answer(sale.ask('a', { quantity: 5 }))).toMatchObject({ code: 'reserved', quantity: 5 })
    expect(await sale.counts()).toEqual({ left: 0, held: 5, buyers: 1 })
  })

  test('asking again with the same attempt returns the same order, also with another id and quantity, also when sold out', async () => {
    const sale = await open(2)
    const first = await sale.answer(sale.ask('a', { quantity: 2 }))
    expect(first.code).toBe('reserved')
    expect(first.reservedAtMs).toBeGreaterThan(0)
    expect(await sale.codes(sale.ask('b'))).toEqual(['not_enough'])
    for (const quantity of [2, 1, 9]) {
      expect(await sale.answer(sale.ask('a', { quantity }))).toEqual({ ...first, code: 'same' })
    }
    expect(await sale.counts()).toEqual({ left: 0, held: 2, buyers: 1 })
  })

  test('a double click within one batch takes one unit', async () => {
    const sale = await open(5)
    const click = sale.ask('a')
    const reply = await sale.reserve(click, sale.ask('a'), click)
    expect(reply.answers.map(answer => [answer.code, answer.order])).toEqual([
      ['reserved', click.order],
      ['same', click.order],
      ['same', click.order],
    ])
    expect(await sale.counts()).toEqual({ left: 4, held: 1, buyers: 1 })
  })

  test('a buyer with a live order gets it back for a new attempt, never a second one', async () => {
    const sale = await open(5)
    const [first, second] = [sale.ask('a'), sale.ask('a', { attempt: 2 })]
    expect(await sale.codes(first, second)).toEqual(['reserved', 'same'])
    expect(await sale.answer(second)).toMatchObject({ code: 'same', order: first.order })
    expect(await sale.holdings('a')).toHaveLength(1)
    expect(await sale.counts()).toEqual({ left: 4, held: 1, buyers: 1 })
  })

  test('an attempt beyond attemptsMax gets nothing and is not recorded', async () => {
    const sale = await open(5, 2)
    expect(await sale.codes(sale.ask('a', { attempt: 3 }), sale.ask('b', { attempt: 2 }))).toEqual([
      'attempts_used',
      'reserved',
    ])
    expect(await sale.holdings('a')).toEqual([])
    expect(await sale.counts()).toEqual({ left: 4, held: 1, buyers: 1 })
  })

  test('one order id never stands for two reservations, and the rest of the batch does not suffer', async () => {
    const sale = await open(5)
    const [a, b, c] = sale.together('a', 'b', 'c')
    const first = sale.ask(a)
    const { order } = first
    expect(await sale.codes(first, sale.ask(b, { order }), sale.ask(c))).toEqual([
      'reserved',
      'id_conflict',
      'reserved',
    ])
    await sale.release(first, 'closed')
    expect(await sale.codes(sale.ask(b, { order }), sale.ask(a, { order, attempt: 2 }))).toEqual([
      'id_conflict',
      'id_conflict',
    ])
    expect(await sale.holdings(b)).toEqual([])
    expect(await sale.codes(sale.ask(b))).toEqual(['reserved'])
    expect(await sale.counts()).toEqual({ left: 3, held: 2, buyers: 3 })
  })

  test('two buyers racing for the last unit: one of them has it', async () => {
    const sale = await open(1)
    const both = await Promise.all([sale.codes(sale.ask('a')), sale.codes(sale.ask('b'))])
    expect(both.flat().sort()).toEqual(['not_enough', 'reserved'])
    expect(await sale.counts()).toEqual({ left: 0, held: 1, buyers: 1 })
  })

  test('a hundred calls at once sell exactly what is there', async () => {
    const sale = await open(37)
    const codes = await Promise.all(Array.from({ length: 100 }, (_, i) => sale.codes(sale.ask(`buyer${i}`))))
    expect(codes.flat().filter(code => code === 'reserved')).toHaveLength(37)
    expect(codes.flat().filter(code => code === 'not_enough')).toHaveLength(63)
    expect(await sale.counts()).toEqual({ left: 0, held: 37, buyers: 37 })
  })

  test('one buyer asking from many sides at once has one order, and every side is told its id', async () => {
    const sale = await open(50)
    const answers = await Promise.all(Array.from({ length: 20 }, () => sale.answer(sale.ask('a'))))
    expect(answers.filter(answer => answer.code === 'reserved')).toHaveLength(1)
    expect(answers.filter(answer => answer.code === 'same')).toHaveLength(19)
    expect(new Set(answers.map(answer => answer.order)).size).toBe(1)
    expect(await sale.counts()).toEqual({ left: 49, held: 1, buyers: 1 })
  })

  test('the largest ids keep their last digit', async () => {
    const sale = await open(2)
    const last = sale.ask('a', { order: '9223372036854775807' })
    const beforeLast = sale.ask('b', { order: '9223372036854775806' })
    expect(await sale.codes(last, beforeLast)).toEqual(['reserved', 'reserved'])
    expect((await sale.answer(sale.ask('a'))).order).toBe('9223372036854775807')
    expect((await sale.answer(sale.ask('b'))).order).toBe('9223372036854775806')
    await sale.release(last, 'closed', { order: beforeLast.order })
    expect(await sale.counts()).toEqual({ left: 0, held: 2, buyers: 2 })
    await sale.release(last, 'closed')
    expect((await sale.holdings('a')).map(one => [one.order, one.live])).toEqual([['9223372036854775807', false]])
    expect((await sale.holdings('b')).map(one => [one.order, one.live])).toEqual([['9223372036854775806', true]])
  })

  test('no two buyer ids are mistaken for each other, whatever is in them', async () => {
    const buyers = [
      ...[
        'a',
        'A',
        'a:1',
        'a:1:1',
        'a 1',
        'a"1',
        "a'1",
        'a\\1',
        'a{1}',
        'a%3A1',
        'a,1',
        '[a]',
        '{"a":1}',
        '-',
        '0',
        '00',
        '1',
        '1.0',
      ],
      ...['nil', 'null', 'undefined', '__proto__', 'constructor', 'toString', '🐎', '🐎🐎', '買い手', 'é', 'e\u0301'],
      ...['x'.repeat(BUYER_LENGTH_MAX), `${'x'.repeat(BUYER_LENGTH_MAX - 1)}y`, '🐎'.repeat(BUYER_LENGTH_MAX / 2)],
    ]
    const sale = await open(buyers.length)
    const asks = buyers.map(buyer => sale.ask(buyer))
    expect(await sale.codes(...asks)).toEqual(buyers.map(() => 'reserved'))
    for (const ask of asks) {
      expect(await sale.answer(sale.ask(ask.buyer))).toMatchObject({ code: 'same', order: ask.order })
      expect(await sale.holdings(ask.buyer)).toMatchObject([{ order: ask.order, buyer: ask.buyer, live: true }])
    }
    expect(await sale.counts()).toEqual({ left: 0, held: buyers.length, buyers: buyers.length })
  })

  test('a batch of 500 is decided in its order, and the same batch again is the same answers', async () => {
    const sale = await open(200)
    const buyers = sale.together(...Array.from({ length: 500 }, (_, i) => `buyer${i}`))
    const asks = buyers.map(buyer => sale.ask(buyer))
    const reply = await sale.reserve(...asks)
    expect(reply.answers.map(answer => answer.code)).toEqual(asks.map((_, i) => (i < 200 ? 'reserved' : 'not_enough')))
    const again = await sale.reserve(...asks)
    expect(again.answers).toEqual(reply.answers.map((one, i) => (i < 200 ? { ...one, code: 'same' } : one)))
    expect(await sale.counts()).toEqual({ left: 0, held: 200, buyers: 200 })
  })

  test('every reply carries the epoch and what is left, and a version that goes up when something changed', async () => {
    const sale = await open(2)
    const replies = [
      await sale.reserve(sale.ask('a')),
      await sale.reserve(sale.ask('a')),
      await sale.reserve(),
      await sale.reserve(sale.ask('b'), sale.ask('c')),
      await sale.reserve(sale.ask('d')),
    ]
    expect(replies.map(reply => [reply.epoch, reply.left])).toEqual([1, 1, 1, 0, 0].map(left => [1, left]))
    const [first, , , second] = replies.map(reply => reply.version)
    expect(second).toBeGreaterThan(first!)
    expect(replies.map(reply => reply.version)).toEqual([first!, first!, first!, second!, second!])
    expect(await sale.gateStatus()).toMatchObject({ item: sale.item, epoch: 1, version: second, left: 0 })
  })

  test('items do not know each other', async () => {
    const [one, two] = [await open(1), await open(1)]
    const order = one.order()
    expect(await one.codes(one.ask('a', { order }))).toEqual(['reserved'])
    expect(await two.codes(two.ask('a', { order }))).toEqual(['reserved'])
    const { items } = await one.gate.status([two.item, one.item])
    expect(items.map(gateStatus => [gateStatus.item, gateStatus.left])).toEqual([two, one].map(sale => [sale.item, 0]))
  })

  test('a malformed ask anywhere in a batch is refused as a bug, and nothing of the batch is taken', async () => {
    const sale = await open(5)
    const bad = [
      { quantity: 0 },
      { quantity: -1 },
      { quantity: 1.5 },
      { attempt: 0 },
      { order: '' },
      { order: '1e19' },
      { buyer: '' },
    ]
    for (const wish of bad) {
      const batch = [sale.ask('a'), sale.ask('b', wish)]
      await expect(sale.gate.reserve(sale.item, sale.epoch, batch)).rejects.toThrow()
    }
    expect(await sale.counts()).toEqual({ left: 5, held: 0, buyers: 0 })
    expect(decided(await sale.gate.reserve(sale.item, sale.epoch, [sale.ask('a')])).answers[0]!.code).toBe('reserved')
  })
}
