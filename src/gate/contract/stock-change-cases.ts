/** Numbered stock changes: each exactly once, in their order, never below zero. */

import { expect, test } from 'bun:test'
import { CHANGES_REMEMBERED } from '../gate.ts'
import { type Bench, ItemOnSale } from './item-on-sale.ts'

export function stockChangeCases(bench: Bench): void {
  const open = (left: number, changeNo = 0) => ItemOnSale.open(bench, { left, changeNo })
  const change = (sale: ItemOnSale, no: number, delta: number) => sale.gate.change(sale.item, sale.epoch, no, delta)

  test('more units can be sold, fewer can not', async () => {
    const sale = await open(1)
    const [a, b, c] = sale.together('a', 'b', 'c')
    expect(await sale.codes(sale.ask(a), sale.ask(b))).toEqual(['reserved', 'not_enough'])
    const before = await sale.gateStatus()
    expect(await change(sale, 1, 3)).toEqual({ status: 'done', taken: 3 })
    const after = await sale.gateStatus()
    expect(after).toMatchObject({ left: 3, held: 1, changeNo: 1 })
    expect(after.version).toBeGreaterThan(before.version)
    expect(await change(sale, 2, -2)).toEqual({ status: 'done', taken: -2 })
    expect(await sale.codes(sale.ask(b), sale.ask(c))).toEqual(['reserved', 'not_enough'])
    expect(await sale.counts()).toEqual({ left: 0, held: 2, buyers: 2 })
  })

  test('a decrease takes what is left and no more, and touches no reservation', async () => {
    const sale = await open(5)
    expect(await sale.codes(sale.ask('a', { quantity: 2 }))).toEqual(['reserved'])
    expect(await change(sale, 1, -10)).toEqual({ status: 'done', taken: -3 })
    expect(await change(sale, 2, -1)).toEqual({ status: 'done', taken: 0 })
    expect(await sale.counts()).toEqual({ left: 0, held: 2, buyers: 1 })
  })

  test('the same number again answers the same and moves nothing, also after a shortfall', async () => {
    const sale = await open(5)
    const changes = [4, -20, 0, 7]
    const replies = []
    for (const [i, delta] of changes.entries()) replies.push(await change(sale, i + 1, delta))
    expect(replies).toEqual([4, -9, 0, 7].map(taken => ({ status: 'done', taken })))
    const before = await sale.gateStatus()
    for (const [i, delta] of changes.entries()) expect(await change(sale, i + 1, delta)).toEqual(replies[i]!)
    expect(await sale.gateStatus()).toEqual(before)
    expect(before).toMatchObject({ left: 7, changeNo: 4 })
  })

  test('the same number from many sides at once is applied once', async () => {
    const sale = await open(0)
    const replies = await Promise.all(Array.from({ length: 10 }, () => change(sale, 1, 5)))
    expect(replies).toEqual(replies.map(() => ({ status: 'done', taken: 5 })))
    expect(await sale.gateStatus()).toMatchObject({ left: 5, changeNo: 1 })
  })

  test('a number that skips one is not applied', async () => {
    const sale = await open(5)
    expect(await change(sale, 2, 10)).toEqual({ status: 'gap', changeNo: 0 })
    expect(await change(sale, 1, 1)).toEqual({ status: 'done', taken: 1 })
    expect(await change(sale, 3, 10)).toEqual({ status: 'gap', changeNo: 1 })
    expect(await sale.gateStatus()).toMatchObject({ left: 6, changeNo: 1 })
    expect(await change(sale, 2, 10)).toEqual({ status: 'done', taken: 10 })
    expect(await sale.gateStatus()).toMatchObject({ left: 16, changeNo: 2 })
  })

  test('an epoch goes on counting where its terms say, and applies nothing from before', async () => {
    const sale = await open(5, 41)
    expect(await change(sale, 41, 10)).toEqual({ status: 'past', changeNo: 41 })
    expect(await change(sale, 1, 10)).toEqual({ status: 'past', changeNo: 41 })
    expect(await change(sale, 43, 10)).toEqual({ status: 'gap', changeNo: 41 })
    expect(await change(sale, 42, 10)).toEqual({ status: 'done', taken: 10 })
    expect(await change(sale, 41, 10)).toEqual({ status: 'past', changeNo: 42 })
    expect(await sale.gateStatus()).toMatchObject({ left: 15, changeNo: 42 })
  })

  test('what the latest numbers took is remembered; an older one is past, and never applied again', async () => {
    const sale = await open(0)
    const last = CHANGES_REMEMBERED + 6
    for (let no = 1; no <= last; no++) expect(await change(sale, no, no)).toEqual({ status: 'done', taken: no })
    const before = await sale.gateStatus()
    for (let no = 1; no <= last; no++) {
      const forgotten = no <= last - CHANGES_REMEMBERED
      expect(await change(sale, no, no)).toEqual(
        forgotten ? { status: 'past', changeNo: last } : { status: 'done', taken: no },
      )
    }
    expect(await sale.gateStatus()).toEqual(before)
  })

  test('a malformed change is refused as a bug, and changes nothing', async () => {
    const sale = await open(5)
    for (const [no, delta] of [
      [0, 1],
      [-1, 1],
      [1.5, 1],
      [1, 1.5],
      [1, Number.NaN],
      [1, Number.MAX_SAFE_INTEGER],
    ] as const)
      await expect(change(sale, no, delta)).rejects.toThrow()
    expect(await sale.gateStatus()).toMatchObject({ left: 5, changeNo: 0 })
  })
}
