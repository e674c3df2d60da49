/** The code of an open payment: scanned with a phone, or opened on this one. The panel switches by itself when the money arrives. */

import { useEffect, useRef } from 'preact/hooks'
import { webAddress } from '../../buy/paying.ts'
import { formatMoney } from '../../format.ts'
import type { Order } from '../../shapes.ts'
import { store } from '../../store.ts'
import { appOf, paymentWords } from '../../words/payment.ts'
import { announce, onPhone } from '../hooks.ts'
import { QrCode } from './qr-code.tsx'

interface Props {
  readonly order: Order
  readonly provider: string
  readonly qr: string
  /** The buyer has just asked for it. */
  readonly takesFocus: boolean
}

export function PayCode({ order, provider, qr, takesFocus }: Props) {
  const text = paymentWords()
  const app = appOf(provider)
  const amount = formatMoney(order.amount)
  const figure = useRef<HTMLElement>(null)
  useEffect(() => {
    if (!takesFocus) return
    figure.current?.focus({ preventScroll: true })
    figure.current?.scrollIntoView({ block: 'nearest' })
    announce(paymentWords().saidCode(app, amount))
  }, [takesFocus, qr])
  const link = onPhone() ? (store.payPages.get(order.id) ?? webAddress(qr)) : undefined
  return (
    <>
      <figure class="pay-code" tabIndex={-1} ref={figure} aria-label={text.scanWith(app)}>
        <QrCode text={qr} label={text.codeFor(amount, app)} />
        <figcaption>
          <strong>{text.scanWith(app)}</strong>
          <span class="pay-code-amount">{amount}</span>
        </figcaption>
      </figure>
      {link !== undefined && (
        <a class="main-button button-pay" href={link}>
          {text.openApp(app)}
        </a>
      )}
      {link === undefined && onPhone() && <p class="note">{text.scanElsewhere(app)}</p>}
      <p class="note checking">
        <span class="spinner" aria-hidden="true" /> {text.waiting}
      </p>
    </>
  )
}
