import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTestLedger, type TestLedger } from '../../../test/harness/money-ledger.ts'
import type { DeadLetters } from '../dead-letters.ts'
import { createDeadLetters } from './dead-letters.ts'

let ledger: TestLedger
let letters: DeadLetters
beforeAll(async () => {
  ledger = await startTestLedger()
  letters = createDeadLetters(ledger.database)
}, 120_000)
afterAll(() => ledger.stop())

const letter = (entry: string, order: string | undefined, raw = '{}') => ({
  item: '5',
  epoch: 3,
  entry,
  order,
  raw,
  why: 'it can not be placed',
})

test('each is kept once, newest first, also when not even the order could be read', async () => {
  const written = [letter('1-0', '11'), letter('1-0', '12'), letter('2-0', undefined, 'nonsense')]
  for (const one of [...written, ...written]) await letters.write(one)
  await letters.write({ ...letter('1-0', '11'), why: 'another reason, later' })
  const listed = await letters.list(10)
  expect(listed.map(({ atMs, ...rest }) => rest)).toEqual(written.toReversed())
  for (const { atMs } of listed) expect(Math.abs(atMs - (await ledger.sales.now()))).toBeLessThan(60_000)
  expect(await letters.list(1)).toHaveLength(1)
})

test('what no column can hold does not keep the rest from being kept', async () => {
  const order = `\0${'9'.repeat(5_000)}`
  await letters.write({ ...letter('3-0', order, `a\0b${'x'.repeat(1_000_000)}`), why: `why\0${'y'.repeat(9_000)}` })
  const [kept] = await letters.list(1)
  expect(kept).toMatchObject({ entry: '3-0', order: `\ufffd${'9'.repeat(1_999)}` })
  expect(kept?.raw.startsWith('a\ufffdbxxx')).toBe(true)
  expect(kept?.raw.length).toBeLessThan(300_000)
})
