import { describe, expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { gateContract } from '../gate.contract.ts'
import type { Ask, Terms } from '../gate.ts'
import { MemoryGate } from './memory-gate.ts'

/** A wall clock that stands where it is put, also in the past. */
function standingClock(startMs: number): Clock & { nowMs: number } {
  const clock = { nowMs: startMs, now: () => clock.nowMs, elapsed: () => clock.nowMs, sleep: async () => {} }
  return clock
}

gateContract('memory gate', async () => {
  const clock = standingClock(1_750_000_000_000)
  return {
    gate: new MemoryGate(clock),
    untilClock: async nowMs => {
      clock.nowMs = Math.max(clock.nowMs, nowMs)
    },
    close: async () => {},
  }
})

describe('memory gate', () => {
  const item = '42'
  const terms: Terms = {
    left: 2,
    held: 0,
    buyers: 0,
    attemptsMax: 2,
    changeNo: 0,
    stateNo: 0,
    state: 'open',
    opensAtMs: 1_000,
    closesAtMs: 2_000,
  }
  const ask = (buyer: string, order: string): Ask => ({ order, buyer, attempt: 1, quantity: 1, askedAtMs: 0 })

  async function openAt(nowMs: number) {
    const clock = standingClock(nowMs)
    const gate = new MemoryGate(clock)
    await gate.activate(item, 1, terms)
    const status = async () => (await gate.reserve(item, 1, [])).status
    return { clock, gate, status }
  }

  test('the window is judged to the millisecond', async () => {
    const { clock, status } = await openAt(999)
    expect(await status()).toBe('early')
    clock.nowMs = 1_000
    expect(await status()).toBe('ok')
    clock.nowMs = 1_999
    expect(await status()).toBe('ok')
    clock.nowMs = 2_000
    expect(await status()).toBe('over')
  })

  test('a clock that steps back a little does not reopen a sale or make an open one early', async () => {
    const { clock, gate, status } = await openAt(1_000)
    expect(await status()).toBe('ok')
    clock.nowMs = 500
    expect(await status()).toBe('ok')
    expect(gate.nowMs()).toBe(1_000)
    clock.nowMs = 2_000
    expect((await gate.status([])).nowMs).toBe(2_000)
    clock.nowMs = 1_500
    expect(await status()).toBe('over')
    expect((await gate.status([])).nowMs).toBe(2_000)
  })

  test('a clock that was far ahead for a moment and is set right is believed', async () => {
    const { clock, gate, status } = await openAt(1_500)
    expect(await status()).toBe('ok')
    clock.nowMs = 3_600_000
    expect(await status()).toBe('over')
    clock.nowMs = 1_600
    expect(await status()).toBe('ok')
    expect(gate.nowMs()).toBe(1_600)
  })

  test('calls are decided in the order they are made, before any of them is awaited', async () => {
    const { gate } = await openAt(1_000)
    const calls = ['a', 'b', 'c'].map((buyer, i) => gate.reserve(item, 1, [ask(buyer, String(i + 1))]))
    expect(gate.statusNow(item)).toMatchObject({ left: 0, held: 2 })
    const codes = (await Promise.all(calls)).map(reply => ('answers' in reply ? reply.answers[0]!.code : reply.status))
    expect(codes).toEqual(['reserved', 'reserved', 'not_enough'])
  })

  test('the near look stays current without being asked again; the one that was promised is a copy', async () => {
    const { gate } = await openAt(1_000)
    const localView = gate.statusNow(item)!
    const { items } = await gate.status([item])
    await gate.reserve(item, 1, [ask('a', '1')])
    expect(localView).toMatchObject({ left: 1, held: 1, buyers: 1 })
    expect(gate.statusNow(item)).toBe(localView)
    expect(items[0]).toMatchObject({ left: 2, held: 0, buyers: 0 })
  })

  test('who has any order is known, live or closed, also while the next epoch loads; nobody else is', async () => {
    const { gate } = await openAt(1_000)
    await gate.reserve(item, 1, [ask('live', '1'), ask('closed', '2')])
    await gate.reserve(item, 1, [ask('too late', '3')])
    await gate.release(item, 1, [{ order: '2', buyer: 'closed', attempt: 1, outcome: 'closed' }])
    const known = () => ['live', 'closed', 'too late', 'nobody'].map(buyer => gate.knows(item, buyer))
    expect(known()).toEqual([true, true, false, false])
    await gate.fence(item, 2)
    expect(gate.statusNow(item)).toBeUndefined()
    expect(known()).toEqual([true, true, false, false])
    await gate.activate(item, 2, terms)
    expect(known()).toEqual([false, false, false, false])
    expect(gate.knows('another item', 'live')).toBe(false)
  })

  test('a refusal told at once is the one that asking would have brought, and nothing else is told at once', async () => {
    const wishes = ['live', 'closed', 'nobody'].flatMap(buyer =>
      [1, 2, 3].flatMap(attempt => [1, 2, 3].map(quantity => ({ buyer, attempt, quantity }))),
    )
    const told = new Map<string, number>()
    for (const nowMs of [999, 1_000, 2_000]) {
      for (const state of ['open', 'paused', 'over'] as const) {
        for (const wish of wishes) {
          const { clock, gate } = await openAt(1_000)
          await gate.change(item, 1, 1, 2)
          await gate.reserve(item, 1, [ask('live', '1'), ask('closed', '2')])
          await gate.release(item, 1, [{ order: '2', buyer: 'closed', attempt: 1, outcome: 'closed' }])
          await gate.change(item, 1, 2, -1)
          // By a gate that has not seen the opening: its clock does not step back.
          const opensAtMs = nowMs < 1_000 ? 1_001 : 1_000
          await gate.set(item, 1, { stateNo: 1, state, opensAtMs, closesAtMs: 2_000 })
          clock.nowMs = nowMs
          const before = { ...gate.statusNow(item) }
          const refusal = gate.refusal?.(item, 1, wish)
          expect(gate.statusNow(item)).toMatchObject(before)
          expect(gate.refusal?.(item, 2, wish), 'another epoch').toBeUndefined()
          const reply = await gate.reserve(item, 1, [{ ...wish, order: '3', askedAtMs: 0 }])
          const code = 'answers' in reply ? reply.answers[0]!.code : reply.status
          const forGood = code === 'attempts_used' || code === 'not_enough'
          expect(refusal, `${JSON.stringify(wish)} ${state} at ${nowMs}: ${code}`).toBe(forGood ? code : undefined)
          told.set(code, (told.get(code) ?? 0) + 1)
          await gate.fence(item, 2)
          expect(gate.refusal?.(item, 1, wish), 'fenced').toBeUndefined()
        }
      }
    }
    expect([...told.keys()].sort()).toEqual([
      'attempts_used',
      'not_enough',
      'not_now',
      'reserved',
      'same',
      'same_closed',
    ])
  })

  test('a dropped item is gone, and only a higher epoch brings it back', async () => {
    const { gate } = await openAt(1_000)
    await gate.reserve(item, 1, [ask('a', '1')])
    gate.drop(item)
    gate.drop(item)
    gate.drop('never seen')
    expect(gate.statusNow(item)).toBeUndefined()
    expect(gate.knows(item, 'a')).toBe(false)
    expect(await gate.find(item, 'a')).toEqual({ status: 'stale' })
    expect((await gate.reserve(item, 1, [])).status).toBe('stale')
    expect(await gate.load(item, 1, [])).toEqual({ status: 'stale' })
    expect(await gate.activate(item, 1, terms)).toEqual({ status: 'stale' })
    expect(await gate.activate(item, 2, terms)).toEqual({ status: 'done' })
    expect(gate.statusNow(item)).toMatchObject({ epoch: 2, left: 2 })
  })
})
