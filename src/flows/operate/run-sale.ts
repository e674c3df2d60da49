/**
 * An operator moves a sale: publish, pause, resume, end, warm. The ledger moves by compare-and-set and keeps a line in the log; then it is
 * passed on, and the operator hears "done" when the gate has it. Doing it again is no mistake: the first answer may have been lost.
 */

import type { SaleId } from '../../domain/ids.ts'
import type { Sale, StoredSaleState } from '../../domain/sale.ts'
import type { Sales } from '../../ledger/sales.ts'
import type { MessageListener } from '../follow/messages.ts'
import type { SyncState } from '../keep/sync-state.ts'

export type SaleMove = 'publish' | 'pause' | 'resume' | 'end' | 'warm'

const MOVES: Readonly<
  Record<Exclude<SaleMove, 'warm'>, { readonly from: readonly StoredSaleState[]; readonly to: StoredSaleState }>
> = {
  publish: { from: ['draft'], to: 'ready' },
  pause: { from: ['ready'], to: 'paused' },
  resume: { from: ['paused'], to: 'ready' },
  end: { from: ['ready', 'paused'], to: 'over' },
}

type RunSaleOutcome =
  | { readonly kind: 'done'; readonly sale: Sale }
  | { readonly kind: 'missing' }
  /** The sale is in a state that this move does not start from. */
  | { readonly kind: 'not_possible'; readonly state: StoredSaleState }
  /** Not all items could be put into the gate; the keeper goes on trying. */
  | { readonly kind: 'busy' }

export interface RunSaleParts {
  readonly sales: Sales
  readonly syncState: SyncState
  /** The gate's clock, which the window is judged by. */
  readonly nowMs: () => number
  readonly changed: () => void
  readonly messages: Pick<MessageListener, 'saleChanged'>
}

export async function runSale(parts: RunSaleParts, id: SaleId, move: SaleMove, by: string): Promise<RunSaleOutcome> {
  const before = await parts.sales.find(id)
  if (before === undefined) return { kind: 'missing' }
  if (move === 'warm') {
    if (before.state === 'draft' || before.state === 'over') return { kind: 'not_possible', state: before.state }
    // Nobody puts it on sale any more, whoever asks.
    if (parts.nowMs() >= before.closesAtMs) return { kind: 'not_possible', state: 'over' }
    await parts.sales.warmNow(id, by)
  } else {
    const { from, to } = MOVES[move]
    if (!from.includes(before.state) && before.state !== to && !(move === 'publish' && before.state === 'paused')) {
      return { kind: 'not_possible', state: before.state }
    }
    await parts.sales.move(id, from, to, by, `sale.${move}`)
  }
  parts.changed()
  // Published within its window it is to be had when that is answered; if not, it is published all the same.
  const nowMs = parts.nowMs()
  const dueNow = move === 'publish' && nowMs >= before.opensAtMs - before.warmBeforeMs && nowMs < before.closesAtMs
  const passed = (await parts.syncState(id, move === 'warm' || dueNow)) || move === 'publish'
  const sale = await parts.sales.find(id)
  if (sale === undefined) return { kind: 'missing' }
  parts.messages.saleChanged(sale)
  return passed ? { kind: 'done', sale } : { kind: 'busy' }
}
