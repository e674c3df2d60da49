import { expect, test } from 'bun:test'
import { seededRandom, systemRandom } from '../../base/random.ts'
import { TextTable } from './text-table.ts'

test('gives every text one number, keeps it, and knows no other; whatever characters it has', () => {
  const table = new TextTable()
  const texts = ['', 'a', 'b', 'ab', 'ÿ', 'Ā', '小红', '\ud800', '\udc00', '😀', 'x'.repeat(128), '红'.repeat(128)]
  for (const text of texts) expect(table.find(text)).toBe(-1)
  const numbers = texts.map(text => table.add(text))
  expect(numbers).toEqual(texts.map((_, i) => i))
  expect(texts.map(text => table.find(text))).toEqual(numbers)
  expect(numbers.map(no => table.textOf(no))).toEqual(texts)
  expect(table.find('aa')).toBe(-1)
  expect(table.size).toBe(texts.length)
})

test('agrees with a Map over many texts, across blocks, chunks and growing tables', () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  console.log(`seed ${seed}`)
  const random = seededRandom(seed)
  const table = new TextTable()
  const map = new Map<string, number>()
  for (let i = 0; i < 30_000; i++) {
    const text = `buyer-${Math.floor(random.next() * 20_000)}${random.next() < 0.05 ? '红' : ''}`
    expect(table.find(text)).toBe(map.get(text) ?? -1)
    if (!map.has(text)) map.set(text, table.add(text))
  }
  expect(table.size).toBe(map.size)
  for (const [text, no] of map) if (table.textOf(no) !== text) throw new Error(`${no} is ${table.textOf(no)}`)
})
