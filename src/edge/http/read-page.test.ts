import { expect, test } from 'bun:test'
import { readPage } from './exchange.ts'

test('every row is shown once, and the last page says that it is the last, also when it is full', async () => {
  for (const rows of [0, 1, 2, 3, 4, 5, 6]) {
    const all = Array.from({ length: rows }, (_, i) => ({ id: String(100 - i) }))
    for (const limit of [1, 2, 3, 6, 10]) {
      const seen: string[] = []
      let pages = 0
      for (let after: string | null = ''; after !== null; pages++) {
        const from: number = after === '' ? 0 : all.findIndex(row => row.id === after) + 1
        const { shown, next } = await readPage(limit, async max => all.slice(from, from + max))
        seen.push(...shown.map(row => row.id))
        after = next
      }
      expect(seen).toEqual(all.map(row => row.id))
      expect(pages).toBe(Math.max(1, Math.ceil(rows / limit)))
    }
  }
})
