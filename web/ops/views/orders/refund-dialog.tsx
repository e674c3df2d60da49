/**
 * Refunds an order: all that is left, or a part, typed in decimals of the currency. Has an idempotency key, so that pressing again after a
 * lost answer gives nothing back twice.
 */

import { useState } from 'preact/hooks'
import { fromDecimal, toDecimal } from '../../../../src/domain/money.ts'
import { call, newKey, type Unanswered } from '../../api.ts'
import { formatMoney } from '../../format.ts'
import { fieldWrong } from '../../refusal.ts'
import type { WholeOrder } from '../../shapes.ts'
import { notify } from '../../store.ts'
import { paymentWords } from '../../words/payments.ts'
import { words } from '../../words.ts'
import { Dialog } from '../controls/dialog.tsx'
import { Field } from '../controls/field.tsx'

interface RefundProps {
  readonly order: WholeOrder
  readonly onDone: (order: WholeOrder) => void
  readonly onClose: () => void
}

export function RefundDialog({ order, onDone, onClose }: RefundProps) {
  const text = words()
  const own = paymentWords()
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const [restock, setRestock] = useState(false)
  const [key, setKey] = useState(newKey)
  const [notAmount, setNotAmount] = useState(false)
  // A different value is a different refund.
  const changed = <T,>(set: (value: T) => void) => {
    return (value: T) => {
      set(value)
      setKey(newKey())
      setNotAmount(false)
    }
  }
  const { currency } = order.amount
  const left = leftOf(order)
  const act = async () => {
    const minor = typed.trim() === '' ? undefined : fromDecimal(typed, currency)
    if (typed.trim() !== '' && (minor === undefined || minor < 1 || !Number.isSafeInteger(minor))) {
      setNotAmount(true)
      return undefined
    }
    const amount = minor === undefined ? undefined : { amount: minor, currency }
    const body = {
      restock,
      ...(amount !== undefined && { amount }),
      ...(reason.trim() !== '' && { reason }),
    }
    const reply = await call<WholeOrder>('POST', `/api/admin/orders/${order.id}/refund`, { body, key })
    if (reply.kind !== 'ok') return reply
    const isPart = reply.body.state === 'paid' && amount !== undefined
    notify('done', isPart ? own.partDone(formatMoney(amount), order.id) : text.refundDone(order.id))
    onDone(reply.body)
    return reply
  }
  const wrongOf = (name: string, failed: Unanswered | undefined) =>
    failed?.kind === 'refused' && failed.field?.startsWith(name) ? fieldWrong(failed) : undefined
  return (
    <Dialog
      title={text.refundTitle(order.id)}
      what={text.refundWhat(formatMoney(left))}
      confirm={text.refundConfirm}
      danger
      safe
      fields={['amount', 'amount.amount', 'amount.currency', 'reason']}
      act={act}
      onClose={onClose}
    >
      {failed => (
        <>
          <Field
            label={own.amountOf(currency)}
            name="amount"
            value={typed}
            onInput={changed(setTyped)}
            numeric
            optional
            hint={own.amountHint(formatMoney(left))}
            wrong={
              notAmount ? own.badAmount(currency, toDecimal({ amount: 1250, currency })) : wrongOf('amount', failed)
            }
          />
          <Field
            label={own.reason}
            name="reason"
            value={reason}
            onInput={changed(setReason)}
            optional
            wrong={wrongOf('reason', failed)}
          />
          <label class="check">
            <input
              type="checkbox"
              checked={restock}
              onChange={event => changed(setRestock)(event.currentTarget.checked)}
            />
            {text.restock}
          </label>
        </>
      )}
    </Dialog>
  )
}

/** What parts have left of what the buyer paid. */
function leftOf({ amount, payments }: WholeOrder): WholeOrder['amount'] {
  const parts = payments.filter(({ state }) => state === 'captured').flatMap(({ refunds = [] }) => refunds)
  return { ...amount, amount: parts.reduce((left, part) => left - part.amount.amount, amount.amount) }
}
