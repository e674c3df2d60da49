/**
 * Dead letters, for operators: reservations that could not be placed. One may be tried again for as long as no order row was born of it: an
 * order that was born closed is an answer that its buyer has seen, and stays. Trying again places as a worker does: idempotent, and judged
 * by the epoch (E5), so that a letter of a gate that is gone becomes a refusal row.
 */

import { Fault } from '../../base/fault.ts'
import { type ItemId, isId, type OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Journal, KeptDeadLetter } from '../../ledger/journal.ts'
import type { Orders, PlaceAsk, Placing } from '../../ledger/orders.ts'
import { readEntryMessage } from '../place/entry-message.ts'

/** In one question to the ledger. */
const FIND_MAX = 1_000

export interface DeadLettersContext {
  readonly journal: Pick<Journal, 'deadLetters' | 'write'>
  readonly orders: Pick<Orders, 'find' | 'place'>
}

export interface ShownDeadLetter extends KeptDeadLetter {
  /** The rows that were born of it. */
  readonly born: readonly Order[]
  /** A reservation can be read from it of which no row was born. */
  readonly retryable: boolean
}

/** @param upTo the highest number to be shown; undefined: the newest */
export async function listDeadLetters(
  { journal, orders }: DeadLettersContext,
  upTo: string | undefined,
  limit: number,
): Promise<readonly ShownDeadLetter[]> {
  const letters = (await journal.deadLetters(upTo, limit)).map(letter => ({ letter, ids: ordersIn(letter) }))
  const asked = [...new Set(letters.flatMap(({ ids }) => ids))]
  const found = new Map<string, Order>()
  for (let from = 0; from < asked.length; from += FIND_MAX)
    for (const order of await orders.find(asked.slice(from, from + FIND_MAX))) found.set(order.id, order)
  return letters.map(({ letter, ids }) => ({
    ...letter,
    born: ids.flatMap(id => found.get(id) ?? []),
    retryable: reservationsIn(letter) !== undefined && ids.some(id => !found.has(id)),
  }))
}

export async function findDeadLetter(context: DeadLettersContext, id: string): Promise<ShownDeadLetter | undefined> {
  const [letter] = await listDeadLetters(context, id, 1)
  return letter?.id === id ? letter : undefined
}

export type RetryOutcome =
  | { readonly kind: 'unknown' }
  /** Order rows were born of all that is in it: nothing is done. */
  | { readonly kind: 'born'; readonly orders: readonly Order[] }
  /** No reservation can be read from it. */
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'placed'; readonly placings: readonly Placing[] }
  /** The ledger still does not take it. */
  | { readonly kind: 'refused_again'; readonly why: string }

export async function retryDeadLetter(context: DeadLettersContext, id: string, by: string): Promise<RetryOutcome> {
  const letter = await findDeadLetter(context, id)
  if (letter === undefined) return { kind: 'unknown' }
  if (!letter.retryable && letter.born.length > 0) return { kind: 'born', orders: letter.born }
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
function reservationsIn({ item, epoch, raw, order }: KeptDeadLetter): Reservations | undefined {
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

function ordersIn(letter: KeptDeadLetter): readonly OrderId[] {
  const ids = letter.order === undefined ? reservationsIn(letter)?.asks.map(ask => ask.order) : [letter.order]
  return (ids ?? []).filter(isId)
}
