/**
 * The code of an open payment: scanned with a phone, or opened on this one. A script apart, with its own copy of the view library: the page's state is handed over,
 * never imported. The page's panel switches by itself when the money arrives.
 */

import { render } from 'preact'
import { formatMoney } from '../../../src/domain/money.ts'
import { onPhone } from '../buy/on-phone.ts'
import { kindOf } from '../buy/pay-choices.ts'
import { webAddress } from '../buy/web-address.ts'
import type { Page } from '../views/later-part.tsx'
import { payCodeWords } from './pay-code-words.ts'
import { QrCode } from './qr-code.tsx'

/** `takesFocus`: the buyer has just asked for it. */
export function showPayCode(takesFocus: boolean, page: Page, order: string, place: HTMLElement): () => void {
  const unsubscribe = page.store.subscribe(update)
  update()
  if (takesFocus) takeFocus()
  return () => {
    unsubscribe()
    render(null, place)
  }

  function update(): void {
    const known = page.store.orders.get(order)
    const { provider, qr } = known?.payment ?? {}
    // The panel is about to take it away.
    if (known === undefined || provider === undefined || qr === undefined) return
    const texts = textsOf(provider)
    const link = onPhone() ? (page.store.payPages.get(order) ?? webAddress(qr)) : undefined
    render(<PayCode {...texts} qr={qr} link={link} />, place)
  }

  function textsOf(provider: string) {
    const text = payCodeWords(page.words().locale)
    const app = text.apps[kindOf(provider)] ?? text.anyApp
    const amount = formatMoney(page.store.orders.get(order)!.amount, page.formatLocale(), true)
    return { text, app, amount }
  }

  function takeFocus(): void {
    const figure = place.querySelector('figure')
    figure?.focus({ preventScroll: true })
    figure?.scrollIntoView({ block: 'nearest' })
    const { text, app, amount } = textsOf(page.store.orders.get(order)?.payment?.provider ?? '')
    page.announce(text.saidCode(app, amount))
  }
}

interface Props {
  readonly text: ReturnType<typeof payCodeWords>
  readonly app: string
  readonly amount: string
  readonly qr: string
  readonly link: string | undefined
}

function PayCode({ text, app, amount, qr, link }: Props) {
  return (
    <>
      <figure class="pay-code" tabIndex={-1} aria-label={text.scanWith(app)}>
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
    </>
  )
}
