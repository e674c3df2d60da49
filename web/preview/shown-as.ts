/** A sale as buyers would see it at another moment: only what is shown changes, nothing is asked of the server. */

import type { Sale } from '../buyer/shapes.ts'

export const MOMENTS = ['before', 'open', 'soldOut', 'over'] as const
export type Moment = (typeof MOMENTS)[number]

const HOUR_MS = 3_600_000

export function shownAs(sale: Sale, moment: Moment, nowMs: number): Sale {
  const lastsMs = Date.parse(sale.closesAt) - Date.parse(sale.opensAt)
  const opensAtMs = {
    before: Math.max(Date.parse(sale.opensAt), nowMs + HOUR_MS),
    open: nowMs - 1000,
    soldOut: nowMs - 1000,
    over: nowMs - lastsMs - 1000,
  }[moment]
  const state = ({ before: 'scheduled', open: 'open', soldOut: 'sold_out', over: 'over' } as const)[moment]
  return {
    ...sale,
    state,
    opensAt: new Date(opensAtMs).toISOString(),
    closesAt: new Date(opensAtMs + lastsMs).toISOString(),
    items: sale.items.map(item => ({ ...item, left: moment === 'soldOut' ? 0 : item.units })),
  }
}
