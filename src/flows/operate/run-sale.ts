/**
 * An operator moves a sale: publish, pause, resume, end, warm. The ledger moves by compare-and-set and logs it; then the gate is brought in
 * sync, and the answer "done" follows when it is. Repeating a move is no error: its first answer may have been lost. And the operator's
 * decision to sell without the gate while it is away (E10).
 */

import type { ItemId, SaleId } from '../../domain/ids.ts'
import { type Sale, type StoredSaleState, saleState } from '../../domain/sale.ts'
import type { Rights } from '../../ledger/rights.ts'
import type { OperateContext, SaleOutcome } from './operate-context.ts'
import { currencyFault } from './payment-offer.ts'

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
  | SaleOutcome
  /** The sale is in a state that this move does not start from. */
  | { readonly kind: 'not_possible'; readonly state: StoredSaleState }
  /** It is published as a copy. */
  | { readonly kind: 'template' }
  /** Buyers could not pay. */
  | { readonly kind: 'currency_not_taken'; readonly why: string }

type RunContext = Pick<OperateContext, 'sales' | 'syncState' | 'nowMs' | 'changed' | 'messages' | 'providers'>

export async function runSale(context: RunContext, id: SaleId, move: SaleMove, by: string): Promise<RunSaleOutcome> {
  const before = await context.sales.find(id)
  if (before === undefined) return { kind: 'missing' }
  if (move === 'warm') {
    if (before.state === 'draft' || before.state === 'over') return { kind: 'not_possible', state: before.state }
    // Past its closing a sale is not put on sale any more.
    if (context.nowMs() >= before.closesAtMs) return { kind: 'not_possible', state: 'over' }
    await context.sales.warmNow(id, by)
  } else {
    const { from, to } = MOVES[move]
    if (!from.includes(before.state) && before.state !== to && !(move === 'publish' && before.state === 'paused')) {
      return { kind: 'not_possible', state: before.state }
    }
    if (before.template === true && before.state === 'draft') return { kind: 'template' }
    const unpayable = move === 'publish' ? currencyFault(context.providers, before) : undefined
    if (unpayable !== undefined && before.state === 'draft') return { kind: 'currency_not_taken', why: unpayable }
    await context.sales.move(id, from, to, by, `sale.${move}`)
  }
  context.changed()
  // A sale published within its window should be on sale when the answer arrives. If it is not, it is published all the same.
  const nowMs = context.nowMs()
  const dueNow = move === 'publish' && nowMs >= before.opensAtMs - before.warmBeforeMs && nowMs < before.closesAtMs
  const synced = (await context.syncState(id, move === 'warm' || dueNow)) || move === 'publish'
  const sale = await context.sales.find(id)
  if (sale === undefined) return { kind: 'missing' }
  context.messages.saleChanged(sale)
  return synced ? { kind: 'done', sale } : { kind: 'busy' }
}

type OpenLedgerDoorOutcome =
  | { readonly kind: 'done'; readonly sale: Sale }
  | { readonly kind: 'missing' }
  /** Only a door that was shut because the gate is away can be opened so. */
  | { readonly kind: 'not_possible'; readonly why: string }

type DoorContext = Pick<OperateContext, 'sales' | 'changed'> & {
  readonly rights: Pick<Rights, 'openLedgerDoor' | 'now'>
}

/** The operator's decision of E10. It stands until the gate is back. */
export async function openLedgerDoor(
  context: DoorContext,
  id: SaleId,
  item: ItemId,
  by: string,
): Promise<OpenLedgerDoorOutcome> {
  const sale = await context.sales.find(id)
  const found = sale?.items.find(one => one.id === item)
  if (sale === undefined || found === undefined) return { kind: 'missing' }
  const state = saleState(sale, await context.rights.now(), undefined)
  if (state === 'draft' || state === 'over') return { kind: 'not_possible', why: `the sale is ${state}` }
  if (found.epoch === 0) return { kind: 'not_possible', why: 'the item was never on sale' }
  if (!(await context.rights.openLedgerDoor(item, by)))
    return { kind: 'not_possible', why: `its door is "${found.door}", only a door that is shut can be opened` }
  context.changed()
  const after = await context.sales.find(id)
  return after === undefined ? { kind: 'missing' } : { kind: 'done', sale: after }
}
