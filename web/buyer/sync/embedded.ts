/**
 * The sales that a page brings along: a pre-rendered page has them inside (`src/edge/sale-page.ts`), so it shows them before any call, and while
 * no server answers. They count as unconfirmed until a server has sent them again.
 */

import type { Sale } from '../shapes.ts'
import { store } from '../store.ts'

export function readEmbedded(): void {
  const text = document.getElementById('sales')?.textContent
  if (!text) return
  const { sales, all } = JSON.parse(text) as { sales: readonly Sale[]; all: boolean }
  for (const sale of sales) store.putEmbedded(sale)
  if (all) store.listed = sales.map(sale => sale.id)
}
