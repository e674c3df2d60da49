/**
 * A line may ask for a claim that the shop has verified, such as a phone number: each value of it may join once, with the account that came first. So made-up
 * accounts gain nothing, however many there are. The claim is written before the join: a buyer whose join fails then can join later, and no other can.
 */

import { together } from '../../base/batching/together.ts'
import { framed, keyedHashOf, toHex } from '../../domain/draw/draw-bytes.ts'
import type { BuyerId } from '../../domain/ids.ts'
import type { ClaimAsk, LineClaims } from '../../ledger/line-claims.ts'
import type { FollowedLine } from './followed-lines.ts'

const CLAIMS_PER_WRITE = 1_000
const CLAIM_LENGTH_MAX = 200

export type JoinOnce = ReturnType<typeof createJoinOnce>

export function createJoinOnce(claims: LineClaims) {
  const take = together(CLAIMS_PER_WRITE, (asks: readonly ClaimAsk[]) => claims.take(asks))
  /** @param value what the buyer's token says of the claim that the line asks for */
  return async ({ sale, book }: FollowedLine, buyer: BuyerId, value: unknown): Promise<'ok' | 'missing' | 'used'> => {
    const text = typeof value === 'number' ? String(value) : value
    if (typeof text !== 'string' || text === '' || text.length > CLAIM_LENGTH_MAX) return 'missing'
    const claim = toHex(keyedHashOf(book.saltKey, framed(sale.id, text)))
    return (await take({ sale: sale.id, claim, buyer })) === buyer ? 'ok' : 'used'
  }
}
