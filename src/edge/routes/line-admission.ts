/** Where a sale has a waiting line: who gets a ticket, and until when. */

import type { BuyerId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { SaleWithLine } from '../../flows/line/followed-lines.ts'
import { findInLine } from '../../flows/line/join-line.ts'
import type { EdgeContext } from '../edge-context.ts'
import { plainProblem, problem } from '../http/problem-response.ts'

/** When the ticket of this buyer ends; or what is counted and answered: the line has not let this buyer in, or it can't be told now. */
export async function claimEnd(
  edge: EdgeContext,
  sale: SaleWithLine,
  buyer: BuyerId,
): Promise<number | readonly ['busy' | 'not_admitted', Response]> {
  const found = await findInLine(edge.line, sale, buyer)
  if (found.kind === 'busy') return ['busy', plainProblem('busy')]
  if (found.kind !== 'found') return ['not_admitted', problem('not_admitted', { more: { place: null, ahead: null } })]
  const { claimByMs, position, ahead } = found.facts
  const more = { place: position ?? null, ahead: ahead ?? null }
  return claimByMs ?? ['not_admitted', problem('not_admitted', { more })]
}

export function hasLine(sale: Sale): sale is SaleWithLine {
  return sale.line !== undefined
}
