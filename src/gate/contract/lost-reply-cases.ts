/** When an answer never came: the same ids settle it, nothing is lost and nothing is taken twice (E11). */

import { expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import type { Ask, Gate } from '../gate.ts'
import { createFaultyGate, type GateMishap, type GateVerb } from './faulty-gate.ts'
import { type Bench, decided, held, ItemOnSale } from './item-on-sale.ts'

export function lostReplyCases(bench: Bench): void {
  /** The first call of this verb meets with the mishap, all others pass. */
  function once(gate: Gate, verb: GateVerb, mishap: GateMishap): Gate {
    let met = false
    return createFaultyGate(gate, called => {
      if (met || called !== verb) return undefined
      met = true
      return mishap
    })
  }
  const unknown = { status: 'unknown' } as const
  const done = { status: 'done' } as const

  for (const [mishap, what] of [
    ['unknown', 'the call was lost'],
    ['unknown_done', 'its answer was lost'],
  ] as const) {
    const tookEffect = mishap === 'unknown_done'

    test(`reserve: ${what}; asking again with the same ids settles it`, async () => {
      const sale = await ItemOnSale.open(bench, { left: 3 })
      const gate = once(sale.gate, 'reserve', mishap)
      const [a, b, c] = sale.together('a', 'b', 'c')
      const asks = [sale.ask(a, { quantity: 2 }), sale.ask(b, { quantity: 2 }), sale.ask(c)]
      expect(await gate.reserve(sale.item, 1, asks)).toEqual(unknown)
      expect(await sale.counts()).toEqual(
        tookEffect ? { left: 0, held: 3, buyers: 2 } : { left: 3, held: 0, buyers: 0 },
      )
      const settled = decided(await gate.reserve(sale.item, 1, asks))
      const code = tookEffect ? 'same' : 'reserved'
      expect(settled.answers.map(answer => answer.code)).toEqual([code, 'not_enough', code])
      expect(settled.answers.map(answer => answer.order)).toEqual(asks.map(ask => ask.order))
      expect(await sale.counts()).toEqual({ left: 0, held: 3, buyers: 2 })
    })

    test(`release: ${what}; done again, the units are back once`, async () => {
      const sale = await ItemOnSale.open(bench, { left: 3 })
      const gate = once(sale.gate, 'release', mishap)
      const ask = sale.ask('a', { quantity: 2 })
      expect(await sale.codes(ask)).toEqual(['reserved'])
      const releases = [{ order: ask.order, buyer: ask.buyer, attempt: 1, outcome: 'closed' as const }]
      expect(await gate.release(sale.item, 1, releases)).toEqual(unknown)
      expect((await sale.counts()).left).toBe(tookEffect ? 3 : 1)
      expect(await gate.release(sale.item, 1, releases)).toEqual(done)
      expect(await sale.counts()).toEqual({ left: 3, held: 0, buyers: 1 })
    })

    test(`change: ${what}; the same number again says what was taken, and takes it once`, async () => {
      const sale = await ItemOnSale.open(bench, { left: 3 })
      const gate = once(sale.gate, 'change', mishap)
      expect(await gate.change(sale.item, 1, 1, -5)).toEqual(unknown)
      expect((await sale.counts()).left).toBe(tookEffect ? 0 : 3)
      expect(await gate.change(sale.item, 1, 1, -5)).toEqual({ status: 'done', taken: -3 })
      expect(await sale.gateStatus()).toMatchObject({ left: 0, changeNo: 1 })
    })

    for (const verb of ['fence', 'load', 'activate', 'set', 'find'] as const) {
      test(`${verb} during a rebuild: ${what}; the rebuild goes on with the same calls`, async () => {
        const sale = await ItemOnSale.open(bench, { left: 3 })
        const { item, terms } = sale
        const gate = once(sale.gate, verb, mishap)
        const { order, buyer } = await sale.answer(sale.ask('a')).then(answer => ({ ...answer, buyer: 'a' }))
        const snapshot = [held(sale.ask(buyer, { order }))]
        const steps = [
          () => gate.fence(item, 2),
          () => gate.load(item, 2, snapshot),
          () => gate.activate(item, 2, { ...terms, left: 2, held: 1, buyers: 1 }),
          () => gate.set(item, 2, { ...terms, state: 'paused' }),
          () => gate.find(item, buyer),
        ]
        const unanswered: number[] = []
        for (const [i, step] of steps.entries()) {
          if ((await step()).status !== 'unknown') continue
          unanswered.push(i)
          expect((await step()).status).toBe(i === 4 ? 'ok' : 'done')
        }
        expect(unanswered).toEqual([['fence', 'load', 'activate', 'set', 'find'].indexOf(verb)])
        expect((await sale.gate.reserve(item, 1, [sale.ask('b')])).status).toBe('stale')
        expect(decided(await gate.reserve(item, 2, [sale.ask(buyer)])).answers).toMatchObject([{ code: 'same', order }])
        expect(await sale.gateStatus()).toMatchObject({ epoch: 2, left: 2, held: 1, buyers: 1, state: 'paused' })
      })
    }
  }

  for (const mishap of ['stale', 'busy'] as const) {
    test(`reserve answered ${mishap} has taken nothing`, async () => {
      const sale = await ItemOnSale.open(bench, { left: 1 })
      const gate = once(sale.gate, 'reserve', mishap)
      const asks = [sale.ask('a')]
      const reply = await gate.reserve(sale.item, 1, asks)
      expect(reply.status).toBe(mishap)
      expect('answers' in reply).toBe(false)
      expect(await sale.counts()).toEqual({ left: 1, held: 0, buyers: 0 })
      expect(decided(await gate.reserve(sale.item, 1, asks)).answers).toMatchObject([{ code: 'reserved' }])
    })
  }

  test('a crowd behind a gate that loses a third of its calls and answers: every unit is sold once, nobody is told two things', async () => {
    const random = seededRandom(20_240_611)
    const sale = await ItemOnSale.open(bench, { left: 120 })
    const gate = createFaultyGate(sale.gate, () => {
      const chance = random.next()
      return chance < 0.16 ? 'unknown' : chance < 0.33 ? 'unknown_done' : undefined
    })
    const told = new Map<string, string>()
    /** Asks until it is answered, as an edge does: same ids, never a release on a guess. */
    async function settle(asks: readonly Ask[]): Promise<void> {
      for (let tries = 0; tries < 100; tries++) {
        const reply = await gate.reserve(sale.item, 1, asks)
        if (reply.status === 'unknown') continue
        for (const [i, { code, order }] of decided(reply).answers.entries()) {
          if (code !== 'reserved' && code !== 'same') continue
          const { buyer } = asks[i]!
          expect(told.get(buyer) ?? order).toBe(order)
          told.set(buyer, order)
        }
        return
      }
      throw new Error('a hundred tries and no answer')
    }
    const buyers = Array.from({ length: 200 }, (_, i) => `buyer${i}`)
    const batches = Array.from({ length: 50 }, (_, i) => buyers.slice(i * 4, i * 4 + 4).map(buyer => sale.ask(buyer)))
    await Promise.all([...batches, ...batches.map(batch => batch.map(ask => sale.ask(ask.buyer)))].map(settle))
    expect(told.size).toBe(120)
    expect(new Set(told.values()).size).toBe(120)
    expect(await sale.counts()).toEqual({ left: 0, held: 120, buyers: 120 })
    for (const [buyer, order] of told) expect(await sale.holdings(buyer)).toMatchObject([{ order, live: true }])
  })
}
