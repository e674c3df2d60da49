/**
 * Dead letters, for operators: reservations that could not be placed. One may be tried again for as long as no order row was born of it: an
 * order that was born closed is an answer that its buyer has seen, and stays. Trying again places as a worker does: idempotent, and judged
 * by the epoch (E5), so that a letter of a gate that is gone becomes a refusal row.
 */

import { Fault } from '../../base/fault.ts'
import { type ItemId, isId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Journal, KeptDeadLetter } from '../../ledger/journal.ts'
import type { Orders, PlaceAsk, Placing } from '../../ledger/orders.ts'
import { readEntryMessage } from '../place/entry-message.ts'

export interface DeadLettersContext {
  readonly journal: Pick<Journal, 'deadLetters' | 'write'>
  readonly orders: Pick<Orders, 'find' | 'place'>
}

export interface ShownDeadLetter extends KeptDeadLetter {
  /** The row that was born of it. */
  readonly born: Order | undefined
}

/** @param upTo the highest number to be shown; undefined: the newest */
export async function listDeadLetters(
  { journal, orders }: DeadLettersContext,
  upTo: string | undefined,
  limit: number,
): Promise<readonly ShownDeadLetter[]> {
  const letters = await journal.deadLetters(upTo, limit)
  const ids = letters.flatMap(({ order }) => (order !== undefined && isId(order) ? order : []))
  const found = ids.length === 0 ? [] : await orders.find(ids)
  return letters.map(letter => ({ ...letter, born: found.find(order => order.id === letter.order) }))
}

export async function findDeadLetter(context: DeadLettersContext, id: string): Promise<ShownDeadLetter | undefined> {
  const [letter] = await listDeadLetters(context, id, 1)
  return letter?.id === id ? letter : undefined
}

export type RetryOutcome =
  | { readonly kind: 'unknown' }
  /** An order row was born of it: nothing is done. */
  | { readonly kind: 'born'; readonly order: Order }
  /** No reservation can be read from it. */
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'placed'; readonly placings: readonly Placing[] }
  /** The ledger still does not take it. */
  | { readonly kind: 'refused_again'; readonly why: string }

export async function retryDeadLetter(context: DeadLettersContext, id: string, by: string): Promise<RetryOutcome> {
  const letter = await findDeadLetter(context, id)
  if (letter === undefined) return { kind: 'unknown' }
  if (letter.born !== undefined) return { kind: 'born', order: letter.born }
  const read = reservationsIn(letter)
  if (read === undefined) return { kind: 'unreadable' }
  const { item, epoch, asks } = read
  try {
    const reply = await context.orders.place(item, epoch, true, asks)
    if (reply.status !== 'ok') return { kind: 'refused_again', why: 'another epoch owns the item' }
    await context.journal.write({ by, action: 'dead.retry', item, details: { letter: id, orders: asks.length } })
    return { kind: 'placed', placings: reply.placings }
  } catch (error) {
    if (error instanceof Fault) throw error
    return { kind: 'refused_again', why: error instanceof Error ? error.message : String(error) }
  }
}

interface Reservations {
  readonly item: ItemId
  readonly epoch: number
  readonly asks: readonly PlaceAsk[]
}

/** A letter holds one reservation, or a whole message that could not be read when it came. */
function reservationsIn({ item, epoch, raw, order }: ShownDeadLetter): Reservations | undefined {
  let value: unknown
  try {
    value = JSON.parse(raw)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  if (order !== undefined && 'buyer' in value) return { item, epoch, asks: [value as PlaceAsk] }
  const key = 'partition' in value ? String(value.partition) : undefined
  const message = readEntryMessage({ key, value: raw, bytes: Buffer.byteLength(raw) })
  if (message.kind !== 'entry') return undefined
  const [shardless = ''] = message.partition.split('#')
  return { item: shardless, epoch: message.entry.epoch, asks: message.entry.asks }
}
