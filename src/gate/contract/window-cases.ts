/** When the gate sells: its own clock, the window, and the operator's word above it. */

import { expect, test } from 'bun:test'
import type { GateState } from '../gate.ts'
import { type Bench, HOUR_MS, ItemOnSale } from './item-on-sale.ts'

/** Short enough to wait for with a real clock, long enough to ask something before; where that took too long, the next. */
const SOON_MS = [300, 1_200, 4_800, 19_200]

export function windowCases(bench: Bench): void {
  async function setTo(sale: ItemOnSale, state: GateState, fromMs: number, toMs: number): Promise<void> {
    const { nowMs } = await sale.gate.status([])
    const window = { opensAtMs: nowMs + fromMs, closesAtMs: nowMs + toMs }
    const stateNo = (await sale.gateStatus()).stateNo + 1
    expect(await sale.gate.set(sale.item, sale.epoch, { stateNo, state, ...window })).toEqual({ status: 'done' })
  }

  /** False: the clock was past the window's edge before the answer came, so the answer says nothing. Wrong in time is a failure. */
  async function opensAndCloses(soonMs: number): Promise<boolean> {
    const { nowMs } = await bench.gate().status([])
    const [opensAtMs, closesAtMs] = [nowMs + soonMs, nowMs + 3 * soonMs]
    const isPast = async (edgeMs: number) => (await bench.gate().status([])).nowMs >= edgeMs
    const sale = await ItemOnSale.open(bench, { left: 5, opensAtMs, closesAtMs })
    const early = await sale.reserve(sale.ask('a'))
    if (early.status !== 'early' && (await isPast(opensAtMs))) return false
    expect([early.status, early.answers[0]!.code, early.left]).toEqual(['early', 'not_now', 5])
    await bench.untilClock(opensAtMs)
    const open = await sale.reserve(sale.ask('a'))
    if (open.status === 'over' && (await isPast(closesAtMs))) return false
    expect([open.status, open.answers[0]!.code, open.left]).toEqual(['ok', 'reserved', 4])
    expect(open.answers[0]!.reservedAtMs).toBeGreaterThanOrEqual(opensAtMs)
    expect(open.answers[0]!.reservedAtMs).toBeLessThan(closesAtMs)
    await bench.untilClock(closesAtMs)
    const over = await sale.reserve(sale.ask('a'), sale.ask('b'))
    expect([over.status, over.answers.map(answer => answer.code), over.left]).toEqual(['over', ['same', 'not_now'], 4])
    return true
  }

  test("opens by itself at opensAt and closes by itself at closesAt, by the gate's clock", async () => {
    let inTime = false
    for (const soonMs of SOON_MS) if (!inTime) inTime = await opensAndCloses(soonMs)
    expect(inTime, `everything was asked in time, also in a window of ${2 * SOON_MS.at(-1)!} ms`).toBe(true)
  })

  test('the first millisecond belongs to the window, the last does not', async () => {
    const sale = await ItemOnSale.open(bench, { left: 5 })
    await setTo(sale, 'open', 0, HOUR_MS)
    expect((await sale.reserve(sale.ask('a'))).status).toBe('ok')
    await setTo(sale, 'open', -HOUR_MS, 0)
    expect((await sale.reserve(sale.ask('b'))).status).toBe('over')
  })

  test('over stands above early, early above paused', async () => {
    const sale = await ItemOnSale.open(bench, { left: 5 })
    const windows = {
      before: [HOUR_MS, 2 * HOUR_MS],
      inside: [-HOUR_MS, HOUR_MS],
      after: [-2 * HOUR_MS, -HOUR_MS],
    } as const
    const expected = {
      before: { open: 'early', paused: 'early', over: 'over' },
      inside: { open: 'ok', paused: 'paused', over: 'over' },
      after: { open: 'over', paused: 'over', over: 'over' },
    } as const
    for (const moment of ['before', 'inside', 'after'] as const) {
      for (const state of ['open', 'paused', 'over'] as const) {
        const [fromMs, toMs] = windows[moment]
        await setTo(sale, state, fromMs, toMs)
        expect(await sale.reserve()).toMatchObject({ status: expected[moment][state], answers: [] })
      }
    }
  })

  for (const [name, state, from, to] of [
    ['paused', 'paused', -HOUR_MS, HOUR_MS],
    ['ended by an operator', 'over', -HOUR_MS, HOUR_MS],
    ['past its end', 'open', -2 * HOUR_MS, -HOUR_MS],
    ['moved into the future', 'open', HOUR_MS, 2 * HOUR_MS],
  ] as const) {
    test(`who has an order gets it back while the sale is ${name}; nobody else gets anything`, async () => {
      const sale = await ItemOnSale.open(bench, { left: 5, attemptsMax: 2 })
      const [live, closed] = [sale.ask('live'), sale.ask('closed')]
      expect(await sale.codes(live, closed)).toEqual(['reserved', 'reserved'])
      await sale.release(closed, 'closed')
      await setTo(sale, state, from, to)
      const reply = await sale.reserve(
        sale.ask('new'),
        sale.ask('live'),
        sale.ask('live', { attempt: 2 }),
        sale.ask('closed'),
        sale.ask('closed', { attempt: 2 }),
        sale.ask('new', { attempt: 3 }),
        sale.ask('new', { quantity: 9 }),
      )
      const codes = ['not_now', 'same', 'same', 'same_closed', 'not_now', 'not_now', 'not_now'] as const
      expect(reply.answers.map(answer => answer.code)).toEqual([...codes])
      expect(reply.answers.slice(1, 4).map(answer => answer.order)).toEqual([live.order, live.order, closed.order])
      expect(await sale.counts()).toEqual({ left: 4, held: 1, buyers: 2 })
      await setTo(sale, 'open', -HOUR_MS, HOUR_MS)
      expect(await sale.codes(sale.ask('new'), sale.ask('closed', { attempt: 2 }))).toEqual(['reserved', 'reserved'])
    })
  }

  test('units come back and stock changes while paused or over', async () => {
    const sale = await ItemOnSale.open(bench, { left: 2 })
    const [a, b] = [sale.ask('a'), sale.ask('b')]
    expect(await sale.codes(a, b)).toEqual(['reserved', 'reserved'])
    await setTo(sale, 'paused', -HOUR_MS, HOUR_MS)
    await sale.release(a, 'closed')
    await setTo(sale, 'over', -2 * HOUR_MS, -HOUR_MS)
    await sale.release(b, 'refused')
    expect(await sale.gate.change(sale.item, sale.epoch, 1, 3)).toEqual({ status: 'done', taken: 3 })
    expect(await sale.counts()).toEqual({ left: 5, held: 0, buyers: 1 })
  })

  test('a status shows state and window as they were set, under a higher version; set again to the same it changes nothing', async () => {
    const sale = await ItemOnSale.open(bench, { left: 2 })
    const before = await sale.gateStatus()
    expect(before).toEqual({ item: sale.item, epoch: 1, version: before.version, ...shown(sale) })
    const { opensAtMs, closesAtMs } = sale.terms
    const windowState = { stateNo: 7, state: 'paused', opensAtMs: opensAtMs + 1, closesAtMs: closesAtMs + 2 } as const
    await sale.gate.set(sale.item, sale.epoch, windowState)
    const paused = await sale.gateStatus()
    expect(paused).toMatchObject(windowState)
    expect(paused.version).toBeGreaterThan(before.version)
    await sale.gate.set(sale.item, sale.epoch, windowState)
    expect(await sale.gateStatus()).toEqual(paused)
    await sale.gate.set(sale.item, sale.epoch, { ...windowState, stateNo: 8 })
    const again = await sale.gateStatus()
    expect(again).toEqual({ ...paused, ...again, version: again.version, stateNo: 8 })
    expect(again.version).toBeGreaterThan(paused.version)
  })

  test('a word that comes too late is done and undoes nothing: the highest number stands, and of equal ones the last', async () => {
    const sale = await ItemOnSale.open(bench, { left: 2, stateNo: 4 })
    const { opensAtMs, closesAtMs } = sale.terms
    const setTo = (stateNo: number, state: GateState) =>
      sale.gate.set(sale.item, sale.epoch, { stateNo, state, opensAtMs, closesAtMs })
    const done = { status: 'done' } as const
    expect(await setTo(3, 'over')).toEqual(done)
    expect(await sale.gateStatus()).toMatchObject({ stateNo: 4, state: 'open' })
    expect(await setTo(7, 'paused')).toEqual(done)
    const paused = await sale.gateStatus()
    for (const late of [4, 5, 6]) expect(await setTo(late, 'open')).toEqual(done)
    expect(await sale.gateStatus()).toEqual(paused)
    expect((await sale.reserve(sale.ask('late'))).status).toBe('paused')
    expect(await setTo(7, 'open')).toEqual(done)
    expect(await sale.gateStatus()).toMatchObject({ stateNo: 7, state: 'open' })
  })

  test('an epoch begins with the number of its terms, whatever the one before was told', async () => {
    const sale = await ItemOnSale.open(bench, { left: 2, stateNo: 4 })
    const { gate, item, terms } = sale
    const { opensAtMs, closesAtMs } = terms
    expect(await gate.set(item, 1, { stateNo: 9, state: 'paused', opensAtMs, closesAtMs })).toEqual({ status: 'done' })
    expect(await gate.activate(item, 2, { ...terms, stateNo: 5 })).toEqual({ status: 'done' })
    expect(await sale.gateStatus()).toMatchObject({ epoch: 2, stateNo: 5, state: 'open' })
    expect(await gate.set(item, 2, { stateNo: 6, state: 'paused', opensAtMs, closesAtMs })).toEqual({ status: 'done' })
    expect(await sale.gateStatus()).toMatchObject({ epoch: 2, stateNo: 6, state: 'paused' })
  })

  test('a window that ends before it starts is refused as a bug, and the old one stands', async () => {
    const sale = await ItemOnSale.open(bench, { left: 2 })
    const before = await sale.gateStatus()
    const { nowMs } = await sale.gate.status([])
    const windowState = { stateNo: 1, state: 'paused', opensAtMs: nowMs, closesAtMs: nowMs } as const
    await expect(sale.gate.set(sale.item, sale.epoch, windowState)).rejects.toThrow()
    expect(await sale.gateStatus()).toEqual(before)
  })

  test('the gate tells its clock without naming an item, and it does not step back', async () => {
    let last = 0
    for (let i = 0; i < 50; i++) {
      const { nowMs, items } = await bench.gate().status([])
      expect(items).toEqual([])
      expect(Number.isSafeInteger(nowMs)).toBe(true)
      expect(nowMs).toBeGreaterThanOrEqual(last)
      last = nowMs
    }
  })
}

function shown(sale: ItemOnSale) {
  const { attemptsMax: _, ...rest } = sale.terms
  return rest
}
