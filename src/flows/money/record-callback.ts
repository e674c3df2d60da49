/**
 * What a provider tells in a callback with a verified signature. It may come never, twice, late, or before the answer to the call that caused
 * it. Twice counts once: each effect is a compare-and-set on the payment's row.
 */

import { isSameMoney } from '../../domain/money.ts'
import type { CallbackEvent } from '../../payment/payment.ts'
import type { MoneyPorts } from './money-context.ts'
import { type CaptureContext, recordCapture, recordDecline, recordVoid } from './settle-payments.ts'

type CallbackContext = CaptureContext & Pick<MoneyPorts, 'onRefundSent'>

export async function recordCallback(context: CallbackContext, provider: string, event: CallbackEvent): Promise<void> {
  // Of no interest to anybody: providers send many of these.
  if (event.kind === 'other') return
  const outcome = event.kind === 'captured' ? await recordCapture(context, provider, event) : event.kind
  if (event.kind !== 'captured') await recordOther(context, provider, event)
  // Last: an event is recorded as handled only after it was.
  await context.payments.recordCallback(provider, event.eventId, event.ref, outcome)
}

async function recordOther(context: CallbackContext, provider: string, event: CallbackEvent): Promise<void> {
  const { ref, eventId, why } = event
  const payment = await context.payments.find(provider, ref)
  if (payment === undefined) return
  switch (event.kind) {
    case 'void':
      return recordVoid(context, payment, why)
    case 'declined':
      return recordDecline(context, payment, eventId)
    case 'disputed':
      return context.alarm('payment_disputed', { provider, payment: payment.id, order: payment.order, ref })
    case 'refunded': {
      // The refund that was asked for has gone through. One that was made at the provider is the operator's own.
      const whole = isSameMoney(event.amount, payment.amount)
      if (whole && (await context.payments.move(payment.id, 'refund_due', 'refunded'))) {
        context.onRefundSent()
        context.onPaymentChanged(payment.order)
      }
    }
  }
}
