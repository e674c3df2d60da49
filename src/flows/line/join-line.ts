/**
 * A buyer joins the line of a sale, or leaves it. Joining again gives the same number while it is waiting, admitted or used for a live order, and a new last one
 * after a missed time to claim or a closed order. Answered after COMMIT.
 */

import type { BuyerId } from '../../domain/ids.ts'
import type { FollowedLine, FollowedLines, SaleWithLine } from './followed-lines.ts'
import { factsOf, findJoin, type JoinContext, type JoinFacts } from './join-state.ts'

export interface JoinLineContext extends JoinContext {
  readonly followedLines: FollowedLines
}

type JoinOutcome = Joined | { readonly kind: 'early'; readonly opensAtMs: number } | { readonly kind: 'over' | 'busy' }

type FindOutcome =
  | { readonly kind: 'found'; readonly line: FollowedLine; readonly facts: JoinFacts }
  | { readonly kind: 'not_in_line' | 'busy' }

/** @param mayJoin asked before a number is given, with the one that it takes the place of, or 0: undefined lets the buyer join, anything else is the answer */
export async function joinLine<Refused>(
  context: JoinLineContext,
  sale: SaleWithLine,
  buyer: BuyerId,
  mayJoin: (instead: number) => Promise<Refused | undefined>,
): Promise<JoinOutcome | { readonly kind: 'refused'; readonly why: Refused }> {
  const nowMs = context.nowMs()
  if (nowMs < sale.line.opensAtMs) return { kind: 'early', opensAtMs: sale.line.opensAtMs }
  const line = await context.followedLines.of(sale)
  const isOver = sale.state === 'over' || nowMs >= sale.closesAtMs
  let refused: Refused | undefined
  if (!isOver && line.book.numberOf(buyer) === undefined) {
    // A newcomer, as far as this process knows. Nothing is read before the write: it finds out itself who is in line already.
    refused = await mayJoin(0)
    if (refused === undefined) {
      const joined = await join(context, line, buyer, 0)
      if (joined.kind !== 'same' || joined.facts.state !== 'missed') return joined
    }
  }
  const found = await findInLine(context, sale, buyer)
  if (found.kind === 'busy') return { kind: 'busy' }
  if (found.kind === 'found' && found.facts.state !== 'missed') return { ...found, kind: 'same' }
  if (isOver) return { kind: 'over' }
  const instead = found.kind === 'found' ? found.facts.number : 0
  const why = instead === 0 && refused !== undefined ? refused : await mayJoin(instead)
  if (why !== undefined) return { kind: 'refused', why }
  const joined = await join(context, line, buyer, instead)
  return joined.kind === 'joined' && instead !== 0 ? { ...joined, kind: 'same' } : joined
}

type Joined = { readonly kind: 'joined' | 'same'; readonly line: FollowedLine; readonly facts: JoinFacts }

/** @param instead a number that is over; 0: there is none */
async function join(
  context: JoinLineContext,
  line: FollowedLine,
  buyer: BuyerId,
  instead: number,
): Promise<Joined | { readonly kind: 'busy' }> {
  const answer = await context.followedLines.ask(line, { kind: 'join', buyer, instead })
  if (answer === undefined || !('number' in answer)) return { kind: 'busy' }
  const facts = await factsOf(context, line, buyer, answer.number)
  return facts === 'busy' ? { kind: 'busy' } : { kind: answer.kind, line, facts }
}

export async function findInLine(context: JoinLineContext, sale: SaleWithLine, buyer: BuyerId): Promise<FindOutcome> {
  if (context.nowMs() < sale.line.opensAtMs) return { kind: 'not_in_line' }
  const line = await context.followedLines.of(sale)
  const facts = await findJoin(context, line, buyer)
  return typeof facts === 'string' ? { kind: facts } : { kind: 'found', line, facts }
}

/** `done` also for a buyer who was not in line. */
export async function leaveLine(
  context: JoinLineContext,
  sale: SaleWithLine,
  buyer: BuyerId,
): Promise<'done' | 'busy'> {
  if (context.nowMs() < sale.line.opensAtMs) return 'done'
  const line = await context.followedLines.of(sale)
  const answer = await context.followedLines.ask(line, { kind: 'leave', buyer })
  return answer === undefined ? 'busy' : 'done'
}
