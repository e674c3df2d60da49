/**
 * Reads entries of the outbox as the scripts give them. An entry that can't be read is shown as it is. Fields that a later version has added
 * are not read, and no fault of the entry.
 */

import type { Traces } from '../../base/trace.ts'
import { BUYER_LENGTH_MAX, type Epoch, isId } from '../../domain/ids.ts'
import { isNumber } from '../arguments.ts'
import { readTraces } from '../entry-traces.ts'
import type { OutboxEntry, QueuedAsk, TakeReply } from '../outbox.ts'
import { jsonIn, listOf, statusOf, textOf, wholeOf } from './replies.ts'

/** How long a worker has a partition without asking again. */
export const LEASE_MS = 2_000

/** Of `take.lua` and `uncopied.lua`. */
export function takeReplyFrom(reply: unknown): TakeReply {
  const [first, more, epoch, ...entries] = listOf(reply)
  const status = statusOf(first, 'ok', 'held')
  if (status === 'held') return { status }
  return { status, more: more === 1, entries: entries.map(entry => entryFrom(wholeOf(epoch), entry)) }
}

function entryFrom(epoch: Epoch, reply: unknown): OutboxEntry {
  const [id, list] = listOf(reply)
  const fields = listOf(list)
  return {
    id: textOf(id),
    epoch,
    asks: asksFrom(fields),
    traces: tracesFrom(fields),
    // For dead letters: written when it is asked for, or every order would pay for it.
    get raw() {
      return JSON.stringify(fields)
    },
  }
}

/** The order in which `reserve.lua` writes them. A later version may add more behind them: those are not read here, and no fault of the entry. */
const FIELDS = ['at', 'count', 'pieces', 'asks']

/** Behind those four, where any of its orders is traced. */
function tracesFrom(fields: readonly unknown[]): Traces | undefined {
  for (let i = 2 * FIELDS.length; i < fields.length; i += 2)
    if (fields[i] === 'traces') return readTraces(jsonIn(String(fields[i + 1])))
  return undefined
}

/** `at` ms, `count` n, `pieces` (units) p, `asks` [order, buyer, attempt, quantity, …]. Undefined: some of it is not well-formed. */
function asksFrom(fields: readonly unknown[]): QueuedAsk[] | undefined {
  const [, at, , count, , units] = fields
  if (fields.length % 2 !== 0 || FIELDS.some((name, i) => fields[2 * i] !== name)) return undefined
  const list = jsonIn(String(fields[7]))
  const reservedAtMs = Number(at)
  if (!Array.isArray(list) || !isNumber(reservedAtMs) || list.length !== 4 * Number(count)) return undefined
  const asks: QueuedAsk[] = []
  let sum = 0
  for (let i = 0; i < list.length; i += 4) {
    const order: unknown = list[i]
    const buyer: unknown = list[i + 1]
    const attempt = Number(list[i + 2])
    const quantity = Number(list[i + 3])
    if (typeof order !== 'string' || !isId(order) || typeof buyer !== 'string') return undefined
    if (buyer.length < 1 || buyer.length > BUYER_LENGTH_MAX) return undefined
    if (!isNumber(attempt) || !isNumber(quantity)) return undefined
    asks.push({ order, buyer, attempt, quantity, reservedAtMs })
    sum += quantity
  }
  return asks.length > 0 && sum === Number(units) ? asks : undefined
}
