/**
 * What a batch of joins and ends does to a line, in the order of arrival. Pure; runs under the line's lock. A buyer has one join that counts: who asks again
 * gets the same number, and a new last one only instead of the number that was named as over.
 */

import { JoinChain, joinProof, joinSalt } from '../../domain/draw/join-chain.ts'
import type { BuyerId, SaleId } from '../../domain/ids.ts'
import { JOINS_PER_LINE_MAX } from '../../domain/line.ts'
import type { JoinEnd, LineWrite, LockedLine, NumberedJoin } from '../../ledger/lines.ts'

/** Joins, unless the buyer is in line with another number than `instead` (0: with any). Or leaves. */
export type LineAsk =
  | { readonly kind: 'join'; readonly buyer: BuyerId; readonly instead: number }
  | { readonly kind: 'leave'; readonly buyer: BuyerId }

export type LineAnswer =
  | { readonly kind: 'joined' | 'same'; readonly number: number }
  | { readonly kind: 'ended' | 'not_in_line' | 'full' }

export function numberJoins(sale: SaleId, line: LockedLine, asks: readonly LineAsk[]) {
  const chain = new JoinChain(line.head)
  const joined = new Map(line.joined)
  const joins: NumberedJoin[] = []
  const ends: JoinEnd[] = []
  let { numbers, leaves } = line

  function add(buyer: BuyerId): number {
    numbers += 1
    const proof = joinProof(joinSalt(line.saltKey, sale, numbers, buyer), sale, numbers, buyer)
    chain.add(proof)
    joins.push({ number: numbers, buyer, proof, leftNo: undefined })
    joined.set(buyer, numbers)
    return numbers
  }

  function end(buyer: BuyerId, number: number): void {
    leaves += 1
    joined.delete(buyer)
    const own = number - line.numbers - 1
    if (own >= 0) joins[own] = { ...joins[own]!, leftNo: leaves }
    else ends.push({ number, leftNo: leaves })
  }

  function answer(ask: LineAsk): LineAnswer {
    const number = joined.get(ask.buyer)
    if (ask.kind === 'leave') {
      if (number === undefined) return { kind: 'not_in_line' }
      end(ask.buyer, number)
      return { kind: 'ended' }
    }
    if (number !== undefined && number !== ask.instead) return { kind: 'same', number }
    if (numbers >= JOINS_PER_LINE_MAX) return { kind: 'full' }
    if (number !== undefined) end(ask.buyer, number)
    return { kind: 'joined', number: add(ask.buyer) }
  }

  const answers = asks.map(answer)
  const write: LineWrite | undefined =
    joins.length + ends.length === 0 ? undefined : { joins, ends, numbers, leaves, head: chain.head() }
  return { write, result: { answers, write, before: line.numbers } }
}
