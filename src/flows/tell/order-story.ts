/**
 * An order's whole story, oldest step first: what happened, by whom, and how long it took since the step it follows from. It is read from the
 * order's row, its payments, refunds of parts, and the operators' log; the moment of asking is in the order's id. Shop events say nothing
 * that these rows do not. A pure function: it reads nothing by itself, and guesses nothing.
 *
 * Times come from several clocks (the edge's, the gate's, the ledger's, the provider's): a step that one clock puts before its cause is
 * listed behind it, with 0 ms.
 */

import { madeAtMs, nodeOf } from '../../base/snowflake.ts'
import type { Item } from '../../domain/item.ts'
import { type Money, toDecimal } from '../../domain/money.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Payment } from '../../domain/payment.ts'
import type { RefundPart } from '../../domain/refund-part.ts'
import type { LogLine } from '../../ledger/journal.ts'

interface StoryRows {
  readonly order: Order | Reservation
  readonly item: Pick<Item, 'epoch'> | undefined
  readonly payments: readonly Payment[]
  readonly parts: readonly RefundPart[]
  /** Of this order. */
  readonly log: readonly LogLine[]
}

export interface StoryStep {
  readonly atMs: number
  readonly what: string
  readonly by: string
  /** In a sentence. */
  readonly text: string
  /** Since the step that it follows from. */
  readonly tookMs: number | undefined
  readonly after: string | undefined
}

export function orderStory(rows: StoryRows): readonly StoryStep[] {
  const steps: StoryStep[] = []
  function add(what: string, atMs: number, by: string, text: string, cause?: StoryStep): StoryStep {
    const took = cause && { tookMs: Math.max(0, atMs - cause.atMs), after: cause.what }
    const step = { atMs: Math.max(atMs, cause?.atMs ?? 0), what, by, text, tookMs: took?.tookMs, after: took?.after }
    steps.push(step)
    return step
  }

  const { order } = rows
  const { id, buyer, quantity } = order
  const units = quantity === 1 ? '1 unit' : `${quantity} units`
  const asked = add('asked', madeAtMs(id), buyer, `asked for ${units} at node ${nodeOf(id)}, attempt ${order.attempt}`)
  const reserved = add('reserved', order.reservedAtMs, 'gate', `${units} reserved`, asked)
  if (order.state !== 'reserved') {
    const placed = addPlacing(add, order, rows, reserved)
    for (const payment of rows.payments) addPayment(add, payment, order, rows, placed)
    if (order.closedAtMs !== undefined && order.reason !== 'refused') addClosing(add, order, rows, placed)
  }
  for (const { atMs, action, by, details } of rows.log) {
    const { refund, reason } = (details ?? {}) as { refund?: unknown; reason?: unknown }
    // Its own row says more.
    if (rows.parts.some(part => part.id === refund)) continue
    add(action, atMs, by, typeof reason === 'string' ? `as the log has it: ${reason}` : 'as the log has it', asked)
  }
  return steps.toSorted((one, other) => one.atMs - other.atMs)
}

type Add = (what: string, atMs: number, by: string, text: string, cause?: StoryStep) => StoryStep

/** A row of an older epoch was placed by a gate that has been handed over or rebuilt since. */
function addPlacing(add: Add, order: Order, { item }: StoryRows, reserved: StoryStep): StoryStep {
  const { epoch, supersededBy, placedAtMs } = order
  const handedOver = item !== undefined && item.epoch > epoch ? `; the item is at epoch ${item.epoch} since` : ''
  const under = `under epoch ${epoch}${handedOver}`
  if (order.reason !== 'refused')
    return add('placed', placedAtMs, 'ledger', `the order row was committed ${under}`, reserved)
  // The row does not say which of the two it was.
  const refusal = 'the ledger had too few units, or the item was at a newer epoch'
  const why = supersededBy === undefined ? refusal : `order ${supersededBy} of the buyer stands`
  return add(supersededBy === undefined ? 'refused' : 'superseded', placedAtMs, 'ledger', `${why}, ${under}`, reserved)
}

function addPayment(add: Add, payment: Payment, order: Order, { parts, log }: StoryRows, placed: StoryStep): void {
  const { provider, amount, state, ended, why } = payment
  const name = `payment ${payment.id}`
  const end = state === 'void' ? `; it ended ${ended ?? 'without money'}` : ''
  const method = payment.method === undefined ? '' : ` (${payment.method})`
  const text = `${name} over ${shown(amount)} at ${provider}${method}${end}`
  const started = add('payment_started', payment.startedAtMs, order.buyer, text, placed)
  if (payment.declinedAtMs !== undefined)
    add('payment_declined', payment.declinedAtMs, provider, `the last try of ${name} failed`, started)

  if (payment.capturedAtMs === undefined) return
  const back = { late: ': too late, the order was closed', second: ': another payment was first' }[why ?? ''] ?? ''
  const took = add('payment_captured', payment.capturedAtMs, provider, `${name} has the money${back}`, started)
  if (back === '' && order.paidAtMs !== undefined)
    add('paid', order.paidAtMs, 'ledger', `the order is paid by ${name}`, took)

  for (const part of parts.filter(one => one.payment === payment.id)) {
    const reason = part.reason === undefined ? '' : `: ${part.reason}`
    const wish = add('refund_asked', part.askedAtMs, part.by, `${shown(part.amount)} of ${name}${reason}`, took)
    if (part.refundedAtMs !== undefined)
      add('refunded', part.refundedAtMs, provider, `${shown(part.amount)} of ${name} went back`, wish)
  }
  if (payment.refundedAtMs === undefined) return
  // Money that came too late goes back by itself; other money when an operator asked for it, in the same transaction as the closing.
  const cause = log.find(({ action }) => action === 'order.refund')
  const since = why === 'operator' && cause !== undefined ? { ...took, atMs: cause.atMs, what: cause.action } : took
  add('refunded', payment.refundedAtMs, provider, `all that was left of ${name} went back`, since)
}

function addClosing(add: Add, order: Order, { log }: StoryRows, placed: StoryStep): void {
  const { reason, closedAtMs, paidAtMs } = order
  const operator = log.findLast(
    ({ action }) => action === (reason === 'refunded' ? 'order.refund' : 'order.cancel'),
  )?.by
  const [by, text] = {
    unpaid: ['keeper', 'the time to pay was over'],
    cancelled: [operator ?? order.buyer, operator === undefined ? 'cancelled; the log names no operator' : 'cancelled'],
    refunded: [operator ?? 'operator', 'refunded'],
    refused: ['ledger', 'refused'],
  }[reason ?? 'refused'] as [string, string]
  const paid = paidAtMs === undefined ? placed : { ...placed, atMs: paidAtMs, what: 'paid' }
  add(`closed/${reason}`, closedAtMs ?? placed.atMs, by, text, reason === 'refunded' ? paid : placed)
}

const shown = (amount: Money) => `${toDecimal(amount)} ${amount.currency}`
