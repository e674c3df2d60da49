/**
 * One click, from admitted ask to answer. Refusals are values; only a bug throws.
 * A buyer who has an order already gets that order, whatever else is true: `repeatOrder` is asked before anything is refused.
 */

import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { ClickTrace } from '../../base/trace.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Reservation } from '../../domain/order.ts'
import type { Refusal, TakeOrderOutcome } from '../../domain/outcomes.ts'
import { EARLY_WAIT_MS, type LiveItem } from './live-item.ts'
import { existingOrder } from './repeat-order.ts'
import type { SellContext } from './sell-context.ts'
import { BUSY, type Click, type Decision, SOLD_OUT } from './seller.ts'

/** A gate elsewhere may find that it is a moment earlier than we thought: so often is the opening waited for once more. */
const TOO_EARLY_MAX = 3
const TOO_EARLY_MS = 5

export async function takeOrder(context: SellContext, live: LiveItem, click: Click): Promise<TakeOrderOutcome> {
  const { trace } = click
  let refused = live.seller.standing()
  if (refused?.kind === 'early') trace?.step('opening')
  if (refused?.kind === 'early') refused = await waitForOpening(context, live)
  if (refused !== undefined) return refused

  const order = nextId(context)
  if (order === undefined) return BUSY
  const { clock } = context
  const clickedAtMs = clock.elapsed()
  const { buyer, attempt, quantity } = click
  const ask = { order, buyer, attempt, quantity, askedAtMs: clock.now(), trace }
  trace?.step('queue')
  let decision = await live.queue.join(ask)
  // Nothing was taken, so the same id asks again.
  for (let i = 0; i < TOO_EARLY_MAX && decision?.kind === 'early' && opensSoon(context, decision.opensAtMs); i++) {
    await context.opening.wait(live.item.id, TOO_EARLY_MS)
    decision = await live.queue.join(ask)
  }
  if (decision === undefined) return BUSY
  if (trace !== undefined) noteTrace(context, decision, trace)
  const outcome = decision.kind === 'reserved' ? await awaitPlaced(context, live, decision.reservation) : decision
  trace?.step('answer')
  if (outcome.kind === 'placed') context.meters.time('click_to_row', clock.elapsed() - clickedAtMs, trace?.parent)

  const before = faultPoint('answer.before')
  if (before) await before
  if (outcome.kind === 'existing') {
    const existing = await existingOrder(context, live, buyer, outcome.order)
    // The gate learns of a closing after the ledger: until it has the units back, another attempt has to wait.
    const isClosed = existing.kind === 'same' && existing.order.state === 'closed'
    return isClosed && existing.order.attempt !== attempt ? BUSY : existing
  }
  return outcome.kind === 'reserved' ? answerReserved(context, live, outcome.reservation) : outcome
}

/** The order's id leads to its trace from here on. */
function noteTrace({ traces }: SellContext, decision: Decision, trace: ClickTrace): void {
  if (decision.kind === 'reserved') {
    trace.step('placed')
    traces?.note(decision.reservation.id, trace.parent)
  } else if (decision.kind === 'placed') traces?.note(decision.order.id, trace.parent)
}

/** Undefined: no id can be made now (the clock went back, or the lease of the node id lapsed). */
function nextId({ ids }: SellContext): OrderId | undefined {
  try {
    return ids.next()
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** Waits when the opening is about to come. What refuses the buyer then, if anything does. */
async function waitForOpening(context: SellContext, live: LiveItem): Promise<Refusal | undefined> {
  for (;;) {
    const refused = live.seller.standing()
    if (refused?.kind !== 'early' || !opensSoon(context, refused.opensAtMs)) return refused
    const waited = context.opening.wait(live.item.id, refused.opensAtMs - context.view.nowMs())
    if (waited === undefined) return BUSY
    await waited
  }
}

function opensSoon({ view }: SellContext, opensAtMs: number): boolean {
  return opensAtMs - view.nowMs() <= EARLY_WAIT_MS
}

/** A moment for the worker: placed is a better answer than reserved, and costs the buyer less than asking again. */
async function awaitPlaced(context: SellContext, live: LiveItem, reservation: Reservation): Promise<TakeOrderOutcome> {
  const row = await context.waiters.wait(reservation.id)
  if (row === undefined) return { kind: 'reserved', reservation }
  if (row.reason !== 'refused') return { kind: 'placed', order: row }
  return row.supersededBy === undefined ? SOLD_OUT : existingOrder(context, live, reservation.buyer, row.supersededBy)
}

/** E2: the fence was checked when the gate answered; it may have lapsed since. Nothing is awaited between this check and the answer. */
function answerReserved(context: SellContext, live: LiveItem, reservation: Reservation): TakeOrderOutcome {
  if (!live.seller.acknowledge(reservation)) return BUSY
  context.messages.orderReserved(reservation)
  return { kind: 'reserved', reservation }
}
