import { beforeAll, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import type { Journal } from '../journal.ts'
import { createJournal } from './journal.ts'

const ledger = ledgerForFile()
let journal: Journal
beforeAll(async () => {
  journal = createJournal(ledger.database)
}, 300_000)

const letter = (entry: string, order: string | undefined, raw = '{}') => ({
  item: '5',
  epoch: 3,
  entry,
  order,
  raw,
  why: 'it can not be placed',
})

test('each dead letter is kept once, newest first, also when not even the order could be read', async () => {
  const written = [letter('1-0', '11'), letter('1-0', '12'), letter('2-0', undefined, 'nonsense')]
  for (const one of written) expect(await journal.writeDeadLetter(one)).toBe(true)
  for (const one of written) expect(await journal.writeDeadLetter(one)).toBe(false)
  expect(await journal.writeDeadLetter({ ...letter('1-0', '11'), why: 'another reason, later' })).toBe(false)
  const listed = await ledger.deadLetters(10)
  expect(listed.map(({ atMs, ...rest }) => rest)).toEqual(written.toReversed())
  for (const { atMs } of listed) expect(Math.abs(atMs - (await ledger.rights.now()))).toBeLessThan(60_000)
  expect(await ledger.deadLetters(1)).toHaveLength(1)
})

test('dead letters: what no column can hold does not keep the rest from being kept', async () => {
  const order = `\0${'9'.repeat(5_000)}`
  await journal.writeDeadLetter({
    ...letter('3-0', order, `a\0b${'x'.repeat(1_000_000)}`),
    why: `why\0${'y'.repeat(9_000)}`,
  })
  const [kept] = await ledger.deadLetters(1)
  expect(kept).toMatchObject({ entry: '3-0', order: `\ufffd${'9'.repeat(1_999)}` })
  expect(kept?.raw.startsWith('a\ufffdbxxx')).toBe(true)
  expect(kept?.raw.length).toBeLessThan(300_000)
})
