import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import type { AskCounts } from '../../ledger/ask-counts.ts'
import { createAskCounts } from '../../ledger/postgres/ask-counts.ts'
import { AskTally } from './ask-tally.ts'

const ledger = ledgerForFile()

function openTally(askCounts: AskCounts = createAskCounts(ledger.database)): AskTally {
  return new AskTally({ askCounts, clock: systemClock, random: systemRandom })
}

const OUTCOMES = {
  placed: 5,
  reserved: 2,
  same: 1,
  sold_out: 10,
  not_enough: 2,
  rate_limited: 4,
  paused: 3,
  ticket_invalid: 1,
} as const

function countAll(tally: AskTally, sale: string): void {
  for (const [outcome, times] of Object.entries(OUTCOMES))
    for (let i = 0; i < times; i++) tally.count(sale, outcome as keyof typeof OUTCOMES)
}

test('accounts for every ask of a sale, over all processes and their restarts, and for none of another sale', async () => {
  const { sale } = await ledger.openItem()
  const { sale: other } = await ledger.openItem()
  const [first, second] = [openTally(), openTally()]
  const fromMs = systemClock.now()
  countAll(first, sale)
  expect(await first.all(sale)).toMatchObject({ asked: 28, limited: 4, soldOut: 12, refused: 4 })
  await first.round()
  expect(await openTally().all(sale)).toMatchObject({ asked: 28, limited: 4, soldOut: 12, refused: 4 })
  expect(await first.all(sale)).toMatchObject({ asked: 28 })
  countAll(second, sale)
  second.count(other, 'placed')
  for (let again = 0; again < 2; again++) await second.round()
  const seen = await openTally().all(sale)
  expect(seen).toMatchObject({ asked: 56, limited: 8, soldOut: 24, refused: 8 })
  expect(seen.sinceMs).toBeGreaterThanOrEqual(fromMs)
  expect(await first.all(other)).toMatchObject({ asked: 1, refused: 0 })
})

test('a write without an answer is written again and counted once, and an older one that comes late changes nothing', async () => {
  const { sale } = await ledger.openItem()
  const real = createAskCounts(ledger.database)
  const late: Parameters<AskCounts['save']>[] = []
  let away = true
  const tally = openTally({
    ...real,
    async save(process, counts) {
      late.push([process, counts.map(one => ({ ...one }))])
      await real.save(process, counts)
      if (away) throw new Error('the answer was lost')
    },
  })
  tally.count(sale, 'placed')
  await expect(tally.round()).rejects.toThrow('lost')
  tally.count(sale, 'sold_out')
  away = false
  await tally.round()
  await real.save(...late[0]!)
  expect(await openTally().all(sale)).toMatchObject({ asked: 2, soldOut: 1 })
  // Nothing new: nothing is written.
  await tally.round()
  expect(late).toHaveLength(2)
})

test('counts a bounded number of sales, and goes on counting when they are written', async () => {
  const saved = new Map<string, number>()
  const tally = openTally({
    async save(process, counts) {
      for (const { sale, asked } of counts) saved.set(`${process} ${sale}`, asked)
    },
    ofOthers: async () => ({ sinceMs: undefined, asked: 0, limited: 0, soldOut: 0, refused: 0 }),
  })
  for (let i = 0; i < 1_001; i++) tally.count(`${i}`, 'placed')
  await tally.round()
  expect(saved.size).toBe(1_000)
  tally.count('0', 'placed')
  tally.count('1000', 'placed')
  await tally.round()
  // Under another name: what was written stays.
  expect([...saved.values()].every(asked => asked === 1)).toBe(true)
  expect(saved.size).toBe(1_002)
})

test('counts further sales too while one is asked for without a pause, and loses none of its counts', async () => {
  const saved = new Map<string, number>()
  const tally: AskTally = openTally({
    async save(process, counts) {
      for (const { sale, asked } of counts) saved.set(`${process} ${sale}`, asked)
      // Asked for while the counts are written.
      tally.count('0', 'placed')
    },
    ofOthers: async () => ({ sinceMs: undefined, asked: 0, limited: 0, soldOut: 0, refused: 0 }),
  })
  for (let i = 0; i < 1_000; i++) tally.count(`${i}`, 'placed')
  await tally.round()
  tally.count('1000', 'placed')
  await tally.round()
  await tally.round()
  const sumOf = (sale: string) =>
    [...saved].filter(([name]) => name.endsWith(` ${sale}`)).reduce((sum, [, asked]) => sum + asked, 0)
  expect(sumOf('1000')).toBe(1)
  expect(sumOf('7')).toBe(1)
  expect(sumOf('0')).toBe((await tally.all('0')).asked - 1)
})
