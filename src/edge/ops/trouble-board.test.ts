import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { TroubleBoard } from './trouble-board.ts'

function stage() {
  let ms = 0
  const pass = (more: number) => {
    ms += more
  }
  const clock: Clock = { now: () => 1_000_000 + ms, elapsed: () => ms, sleep: async () => {} }
  return { board: new TroubleBoard(clock), pass }
}

test('calls nothing trouble that was seen only once, and keeps the beginning of what stays', () => {
  const { board, pass } = stage()
  board.see('a', [{ code: 'inconsistent', item: '1' }])
  expect(board.list()).toEqual([])
  pass(1000)
  board.see('a', [{ code: 'inconsistent', item: '1', words: 'newer' }])
  expect(board.list()).toEqual([{ code: 'inconsistent', item: '1', words: 'newer', sinceMs: 1_000_000 }])
})

test('forgets what is gone, and begins anew when it comes back', () => {
  const { board, pass } = stage()
  for (let i = 0; i < 2; i++) board.see('a', [{ code: 'ledger_away' }])
  board.see('a', [])
  expect(board.list()).toEqual([])
  pass(5000)
  board.see('a', [{ code: 'ledger_away' }])
  expect(board.list()).toEqual([])
  board.see('a', [{ code: 'ledger_away' }])
  expect(board.list()[0]?.sinceMs).toBe(1_005_000)
})

test('waits as long as a hiccup may last', () => {
  const { board, pass } = stage()
  const seen = () => board.see('a', [{ code: 'unsettled', count: 3, graceMs: 5000 }])
  seen()
  pass(4000)
  seen()
  expect(board.list()).toEqual([])
  pass(1000)
  seen()
  expect(board.list()).toEqual([{ code: 'unsettled', count: 3, sinceMs: 1_000_000 }])
})

test('puts a broken promise first, whoever found it, and keeps scopes apart', () => {
  const { board } = stage()
  for (let i = 0; i < 2; i++) {
    board.see('process', [{ code: 'refunds_stuck', count: 1 }, { code: 'ledger_away' }])
    board.see('sale', [{ code: 'promise_broken', which: '1', item: '7' }])
  }
  expect(board.list().map(({ code }) => code)).toEqual(['promise_broken', 'ledger_away', 'refunds_stuck'])
  board.see('process', [])
  expect(board.list().map(({ code }) => code)).toEqual(['promise_broken'])
})
