/**
 * What a buyer in line is told: number, position, how many are ahead, whether it is his time, and how long it may take. From memory, without a statement for each
 * poll; only of those who are let in and may have an order, the seller is asked.
 */

import { assert } from '../../base/assert.ts'
import { joinProof, joinSalt } from '../../domain/draw/join-chain.ts'
import type { BuyerId, ItemId } from '../../domain/ids.ts'
import type { JoinState } from '../../domain/line.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Registry } from '../sell/live-item.ts'
import type { OrderFinder } from '../sell/order-finder.ts'
import type { FollowedLine } from './followed-lines.ts'
import { type Estimate, estimateOf, pollAfterSeconds } from './line-pace.ts'

export interface JoinContext {
  readonly registry: Registry
  readonly finder: Pick<OrderFinder, 'ofBuyer'>
  /** By the gate's clock. */
  readonly nowMs: () => number
}

/** Where a buyer is in line. */
export interface JoinFacts {
  readonly number: number
  readonly state: JoinState
  /** Undefined before the draw. */
  readonly position: number | undefined
  readonly ahead: number | undefined
  /** Of `admitted`: until when a ticket is given, and is good. */
  readonly claimByMs: number | undefined
}

interface JoinShown extends JoinFacts {
  readonly estimate: Estimate | undefined
  readonly pollAfterSeconds: number
  /** Units left in the sale; undefined: not known. */
  readonly left: number | undefined
  readonly salt: Uint8Array
  readonly proof: Uint8Array
  readonly head: Uint8Array
}

/** `not_in_line` is certain: the ledger was asked. `busy`: whether the buyer has an order can't be told now. */
export async function findJoin(
  context: JoinContext,
  line: FollowedLine,
  buyer: BuyerId,
): Promise<JoinFacts | 'not_in_line' | 'busy'> {
  const number = line.book.numberOf(buyer) ?? (await line.numberOf(buyer))
  return number === undefined ? 'not_in_line' : factsOf(context, line, buyer, number)
}

export async function factsOf(
  context: JoinContext,
  { sale, book }: FollowedLine,
  buyer: BuyerId,
  number: number,
): Promise<JoinFacts | 'busy'> {
  const position = book.positionOf(number)
  const letInAtMs = position === undefined ? undefined : book.letInAtMs(position)
  if (position === undefined || letInAtMs === undefined) {
    const ahead = position === undefined ? undefined : book.ahead(position)
    return { number, state: 'waiting', position, ahead, claimByMs: undefined }
  }
  const became = await whatBecame(context, sale, buyer, letInAtMs)
  if (became === undefined) return 'busy'
  const claimByMs = letInAtMs + sale.line.claimWithinMs
  const isOver = became === 'ended' || context.nowMs() >= claimByMs
  const state = became === 'live' ? 'done' : isOver ? 'missed' : 'admitted'
  return { number, state, position, ahead: 0, claimByMs: state === 'admitted' ? claimByMs : undefined }
}

/** With what costs a few hashes: for the buyer alone. */
export function shownJoin(context: JoinContext, line: FollowedLine, buyer: BuyerId, facts: JoinFacts): JoinShown {
  const { sale, book } = line
  const { number, ahead, state } = facts
  const left = leftIn(context.registry, sale)
  const moves = state === 'waiting' && ahead !== undefined && !book.paused && sale.state === 'ready' && left !== 0
  const estimate = moves ? estimateOf(ahead, book.steps, context.nowMs()) : undefined
  const head = book.headOf(number)
  assert(head !== undefined, `number ${number} of the line of sale ${sale.id} was answered before it was read`)
  const salt = joinSalt(book.saltKey, sale.id, number, buyer)
  return {
    ...facts,
    estimate,
    pollAfterSeconds: pollAfterSeconds(ahead, book.waiting, estimate),
    left,
    salt,
    proof: joinProof(salt, sale.id, number, buyer),
    head,
  }
}

/** Units of all items; undefined where one is not known. */
export function leftIn(registry: Registry, sale: Sale): number | undefined {
  let left = 0
  for (const item of sale.items) {
    const ofItem = registry.get(item.id)?.seller.left(true)
    if (ofItem === undefined) return undefined
    left += ofItem
  }
  return left
}

/**
 * What the buyer made of being let in. A live order or reservation of the sale counts whenever it was made. One that was made since and has ended was the only one: its
 * unit is for those who wait. Undefined: it can't be told now.
 */
async function whatBecame(
  context: JoinContext,
  sale: Sale,
  buyer: BuyerId,
  letInAtMs: number,
): Promise<'live' | 'ended' | 'no' | undefined> {
  let ended = false
  for (const { id } of sale.items) {
    const attempts = await attemptsAt(context, id, buyer)
    if (attempts === 'unknown') return undefined
    if (attempts.some(one => one.live)) return 'live'
    ended ||= attempts.some(one => one.reservedAtMs >= letInAtMs)
  }
  return ended ? 'ended' : 'no'
}

async function attemptsAt({ registry, finder }: JoinContext, item: ItemId, buyer: BuyerId) {
  const live = registry.get(item)
  if (live !== undefined) return live.seller.knows(buyer) ? live.seller.find(buyer) : []
  const orders = await finder.ofBuyer(item, buyer)
  return orders.map(({ state, reservedAtMs }) => ({ live: state !== 'closed', reservedAtMs }))
}
