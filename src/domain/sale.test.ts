import { expect, test } from 'bun:test'
import { type Sale, type StoredSaleState, saleState } from './sale.ts'

const [BEFORE, INSIDE, AFTER] = [999, 1_500, 2_000]

function shown(state: StoredSaleState, left: number | undefined = 1): string[] {
  const sale = { state, opensAtMs: 1_000, closesAtMs: 2_000 } as Sale
  return [BEFORE, INSIDE, AFTER].map(nowMs => saleState(sale, nowMs, left))
}

test('what a sale is before, inside and after its window', () => {
  expect(shown('draft')).toEqual(['draft', 'draft', 'draft'])
  expect(shown('ready')).toEqual(['scheduled', 'open', 'over'])
  expect(shown('ready', 0)).toEqual(['scheduled', 'sold_out', 'over'])
  expect(shown('ready', undefined)).toEqual(['scheduled', 'open', 'over'])
  // Paused is paused also before the opening: at that moment nothing will open.
  expect(shown('paused', 0)).toEqual(['paused', 'paused', 'over'])
  expect(shown('over')).toEqual(['over', 'over', 'over'])
})
