/** An order that waits for its payment: choose a way to pay, pay, see at once what became of it, try again, or cancel. */

import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { onPhone } from '../../buy/on-phone.ts'
import { type PayChoice, payChoices, sameChoice } from '../../buy/pay-choices.ts'
import { payStanding } from '../../buy/pay-standing.ts'
import { type PayOutcome, pay } from '../../buy/paying.ts'
import { formatMoney } from '../../format.ts'
import { loadPayCode } from '../../later-files.ts'
import type { Order } from '../../shapes.ts'
import { store } from '../../store.ts'
import { paymentWords } from '../../words/payment.ts'
import { words } from '../../words.ts'
import { TimeLeft } from '../countdown.tsx'
import { announce, useFocusSuccessor, useLeft } from '../hooks.ts'
import { LaterPart } from '../later-part.tsx'
import { CancelOrder } from './cancel-order.tsx'
import { OrderContact } from './order-contact.tsx'
import { PayChoiceGroup } from './pay-choice.tsx'

interface Props {
  readonly order: Order
  readonly panel: RefObject<HTMLElement | null>
}

export function PendingOrder({ order, panel }: Props) {
  const text = words()
  const dueMs = order.payBy === undefined ? Number.POSITIVE_INFINITY : Date.parse(order.payBy)
  const due = useLeft(dueMs) === 0
  useEffect(() => {
    if (due) announce(words().payDue)
  }, [due])
  useFocusSuccessor(panel, 'h2')
  if (due) return <p class="note">{text.payDue}</p>
  return (
    <>
      <p class="note">{text.yoursNote}</p>
      {order.payBy !== undefined && (
        <p class="pay-left">
          <span>{text.payLeft}</span>
          <TimeLeft untilMs={dueMs} />
        </p>
      )}
      <ContactThenPaying order={order} />
      <CancelOrder order={order} />
    </>
  )
}

/** Where the sale asks how the buyer can be reached: that first. */
function ContactThenPaying({ order }: { readonly order: Order }) {
  const fields = store.sales.get(order.sale)?.contactFields
  const [said, setSaid] = useState(false)
  /** How often the server has missed something. */
  const [missed, setMissed] = useState(0)
  if (fields === undefined && missed === 0) return <Paying order={order} onContact={() => setMissed(1)} />
  return (
    <>
      <OrderContact key={missed} order={order.id} fields={fields} onSaid={setSaid} />
      {said && <Paying order={order} onContact={() => setMissed(missed + 1)} />}
    </>
  )
}

function Paying({ order, onContact }: { readonly order: Order; readonly onContact: () => void }) {
  const text = words()
  const choices = payChoices(store.sales.get(order.sale)?.payment ?? [], onPhone())
  const [picked, setPicked] = useState<PayChoice>()
  const [outcome, setOutcome] = useState<PayOutcome | 'asking'>()
  /** The code is open, and the buyer looks for another way. */
  const [otherWay, setOtherWay] = useState(false)
  const { payment } = order
  const chosen = picked ?? choices.find(choice => payment !== undefined && sameChoice(choice, payment)) ?? choices[0]

  const backAtMs = store.paying.get(order.id)
  const standing = payStanding(payment, backAtMs === undefined ? undefined : performance.now() - backAtMs)
  const problem = problemOf(standing, choices.length > 1)
  useEffect(() => {
    if (problem !== undefined) announce(problem)
  }, [standing])

  // A page restored by the browser after the visit to the provider must not still show "opening".
  useEffect(() => {
    const shown = () => setOutcome(undefined)
    window.addEventListener('pageshow', shown)
    return () => window.removeEventListener('pageshow', shown)
  }, [])

  const busy = outcome === 'asking' || outcome === 'leaving'
  const press = async () => {
    if (busy) return
    setOutcome('asking')
    const became = await pay(order, chosen)
    setOutcome(became)
    setOtherWay(false)
    if (became === 'contact') onContact()
    const failure = failureOf(became)
    if (failure !== undefined) announce(failure)
  }
  if (standing === 'code' && payment?.qr !== undefined && !otherWay && !busy) {
    return (
      <>
        <LaterPart
          class="code-place"
          load={() => loadPayCode(outcome === 'code')}
          id={order.id}
          failed={paymentWords().codeFailed}
          key={payment.qr}
        />
        <p class="note checking">
          <span class="spinner" aria-hidden="true" /> {paymentWords().waiting}
        </p>
        {choices.length > 1 && (
          <button type="button" class="plain-button" onClick={() => setOtherWay(true)}>
            {paymentWords().otherWay}
          </button>
        )}
      </>
    )
  }
  const failure = failureOf(outcome)
  return (
    <>
      {standing === 'checking' && (
        <p class="note checking" role="status">
          <span class="spinner" aria-hidden="true" /> {text.checkingPay}
        </p>
      )}
      {problem !== undefined && !busy && <p class="note problem">{problem}</p>}
      {choices.length > 1 && chosen !== undefined && (
        <PayChoiceGroup choices={choices} chosen={chosen} busy={busy} onChoose={setPicked} />
      )}
      <button type="button" class="main-button button-pay" aria-disabled={busy} onClick={() => void press()}>
        {busy && <span class="spinner" aria-hidden="true" />}
        <span>{labelOf(order, chosen, busy, problem !== undefined)}</span>
      </button>
      {failure !== undefined && <p class="note problem">{failure}</p>}
    </>
  )
}

function labelOf(order: Order, chosen: PayChoice | undefined, busy: boolean, again: boolean): string {
  const [text, payment] = [words(), paymentWords()]
  if (busy) return chosen?.qr ? payment.openingCode : text.openingPay
  const what = again ? payment.tryAgain : chosen?.qr ? payment.showCode : text.payNow
  return `${what} · ${formatMoney(order.amount)}`
}

/** What became of the last payment, when it is nothing good. */
function problemOf(standing: ReturnType<typeof payStanding>, several: boolean): string | undefined {
  const payment = paymentWords()
  if (standing === 'declined') return several ? payment.declined : payment.declinedOnly
  if (standing === 'expired') return payment.expired
  return standing === 'not_paid' ? words().notPaid : undefined
}

/** Why no payment could be started. */
function failureOf(outcome: PayOutcome | 'asking' | undefined): string | undefined {
  const text = words()
  if (outcome === 'failed') return text.payFailed
  if (outcome === 'used') return text.payUsed
  if (outcome === 'refused') return paymentWords().refused
  return outcome === 'unavailable' ? text.payUnavailable : undefined
}
